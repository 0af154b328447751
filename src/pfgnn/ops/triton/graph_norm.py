"""Triton kernels for :mod:`pfgnn.ops.graph_norm`.

Each program handles all nodes of a graph, for one particle and some features.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.graph_norm import Norming
from pfgnn.ops.triton.numeric import bounded, maximum, relu, relu_back
from pfgnn.ops.triton.rows import ALIGN, padded

WARPS = 4  # warps per program
PLACES = 2**31  # number of offsets that fit 32 bits; a tensor with as many entries needs 64-bit offsets


@triton.jit
def _place(start, K, D, C: tl.constexpr):
    """Place of a program.

    Returns:
        The first row of its graph and particle, the number of nodes, the columns, and which of these exist.
    """
    graph, particle = tl.program_id(0) // K, tl.program_id(0) % K
    begin, end = tl.load(start + graph), tl.load(start + graph + 1)
    column = tl.program_id(1) * C + tl.arange(0, C)
    return begin * K + particle, (end - begin).to(tl.int32), column, column < D


@triton.jit
def _nodes(LARGE: tl.constexpr, R: tl.constexpr):
    """Numbers 0 to R - 1 of the first R nodes of the graph, shape [R, 1]. In 64 bits if LARGE, otherwise in 32."""
    node = tl.arange(0, R)[:, None]
    return node.to(tl.int64) if LARGE else node


@triton.jit
def _load(h, node, column, count, columns, step):
    """Values of some nodes, and 0 for those that do not exist.

    Args:
        h: Pointer to the first row of the graph and particle.
        node: Node numbers, counted from the first node of the graph, shape [R, 1].
        column: Columns, shape [1, C].
        count: Number of nodes of the graph.
        columns: Number of columns.
        step: Distance in memory from one node to the next.
    """
    return tl.load(h + node * step + column, (node < count) & (column < columns), 0.0).to(tl.float32)


@triton.jit
def _weigh(v, near, node, count, K, NEAR: tl.constexpr):
    """v [R, C] times the weight of each node in the mean: near if NEAR is set, otherwise 1."""
    return v * tl.load(near + node * K, node < count, 0.0) if NEAR else v


@triton.jit
def _number(near, count, K, NEAR: tl.constexpr, LARGE: tl.constexpr, R: tl.constexpr):
    """The total weight of the nodes in the mean, at least 1. Without NEAR this is the number of nodes."""
    n = tl.maximum(count, 1).to(tl.float32)
    if NEAR:
        node, found = _nodes(LARGE, R), tl.zeros([R, 1], tl.float32)
        for more in range(0, count, R):
            found += tl.load(near + (node + more) * K, node + more < count, 0.0)
        n = maximum(tl.sum(found), 1.0)
    return n


@triton.jit
def norm_forward(
    h, x, scale, shift, mean_scale, near, out, means, roots, start, K, D, stride, eps, limit,
    RESIDUAL: tl.constexpr, RELU: tl.constexpr, NEAR: tl.constexpr,
    LARGE: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    first, count, column, inside = _place(start, K, D, C)
    h, x, out, near, step = h + first * stride, x + first * D, out + first * D, near + first, K * stride
    n = _number(near, count, K, NEAR, LARGE, R)
    c, node = column[None, :], _nodes(LARGE, R)
    # The first R nodes, which are all nodes of most graphs, stay in registers. The others are loaded again each time.
    v = bounded(_load(h, node, c, count, D, step), limit)
    total = tl.sum(_weigh(v, near, node, count, K, NEAR), 0)
    for more in range(R, count, R):
        w = bounded(_load(h, node + more, c, count, D, step), limit)
        total += tl.sum(_weigh(w, near, node + more, count, K, NEAR), 0)
    mean = total / n
    middle = tl.load(mean_scale + column, inside, 0.0).to(tl.float32) * mean
    v = tl.where(node < count, v - middle[None, :], 0.0)
    squares = tl.sum(_weigh(v * v, near, node, count, K, NEAR), 0)
    for more in range(R, count, R):
        w = bounded(_load(h, node + more, c, count, D, step), limit)
        w = tl.where(node + more < count, w - middle[None, :], 0.0)
        squares += tl.sum(_weigh(w * w, near, node + more, count, K, NEAR), 0)
    root = 1 / tl.sqrt_rn(squares / n + eps)
    factor = tl.load(scale + column, inside, 0.0).to(tl.float32) * root
    offset = tl.load(shift + column, inside, 0.0).to(tl.float32)
    y = v * factor[None, :] + offset[None, :]
    if RELU:
        y = relu(y)
    if RESIDUAL:
        y += _load(x, node, c, count, D, K * D)
    tl.store(out + node * (K * D) + c, y, (node < count) & (c < D))
    for more in range(R, count, R):
        w = bounded(_load(h, node + more, c, count, D, step), limit)
        y = (w - middle[None, :]) * factor[None, :] + offset[None, :]
        if RELU:
            y = relu(y)
        if RESIDUAL:
            y += _load(x, node + more, c, count, D, K * D)
        tl.store(out + (node + more) * (K * D) + c, y, (node + more < count) & (c < D))
    tl.store(means + tl.program_id(0) * D + column, mean, inside)
    tl.store(roots + tl.program_id(0) * D + column, root, inside)


@triton.jit
def _centred(g, h, node, c, count, K, D, stride, limit, middle, factor, beta, RELU: tl.constexpr):
    """Three results: h before clamping, h - α μ with the clamped h, and the gradient before the activation."""
    v = _load(h, node, c, count, D, K * stride)
    centred = tl.where(node < count, bounded(v, limit) - middle[None, :], 0.0)
    dz = _load(g, node, c, count, D, K * D)
    if RELU:
        dz = relu_back(centred * factor[None, :] + beta[None, :], dz)
    return v, centred, dz


@triton.jit
def norm_back(
    g, h, scale, shift, mean_scale, near, means, roots, dh, parts, start, K, D, stride, apart, limit,
    RELU: tl.constexpr, NEAR: tl.constexpr, LARGE: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    first, count, column, inside = _place(start, K, D, C)
    g, h, dh, near = g + first * D, h + first * stride, dh + first * apart, near + first
    n = _number(near, count, K, NEAR, LARGE, R)
    own, c, node = tl.program_id(0) * D + column, column[None, :], _nodes(LARGE, R)
    mean, root = tl.load(means + own, inside, 0.0), tl.load(roots + own, inside, 0.0)
    alpha = tl.load(mean_scale + column, inside, 0.0).to(tl.float32)
    beta = tl.load(shift + column, inside, 0.0).to(tl.float32)
    middle, factor = alpha * mean, tl.load(scale + column, inside, 0.0).to(tl.float32) * root
    v, centred, dz = _centred(g, h, node, c, count, K, D, stride, limit, middle, factor, beta, RELU)
    sum_dz, sum_dz_c = tl.sum(dz, 0), tl.sum(dz * centred, 0)
    sum_c = tl.sum(_weigh(centred, near, node, count, K, NEAR), 0)
    for more in range(R, count, R):
        _, w, dw = _centred(g, h, node + more, c, count, K, D, stride, limit, middle, factor, beta, RELU)
        sum_dz += tl.sum(dw, 0)
        sum_dz_c += tl.sum(dw * w, 0)
        sum_c += tl.sum(_weigh(w, near, node + more, count, K, NEAR), 0)
    # z = γ c r + β with r = (mean c² + ε)^(-1/2). So dc = γ r dz - c γ r³ / n Σ dz c. And c = h - α mean h, so
    # dh = dc - α / n Σ dc. If the nodes have weights in the means, the terms that come from a mean are multiplied by
    # them.
    pull = factor * root * root * sum_dz_c / n
    sum_dc = factor * sum_dz - pull * sum_c
    back = alpha * sum_dc / n
    by_mean = _weigh(pull[None, :] * centred + back[None, :], near, node, count, K, NEAR)
    d = factor[None, :] * dz - by_mean  # 0 in the padding columns of dh
    there = dh + node * (K * apart) + c
    tl.store(there, tl.where(tl.abs(v) <= limit, d, 0.0), (node < count) & (c < apart))
    for more in range(R, count, R):
        u, w, dw = _centred(g, h, node + more, c, count, K, D, stride, limit, middle, factor, beta, RELU)
        by_mean = _weigh(pull[None, :] * w + back[None, :], near, node + more, count, K, NEAR)
        d = factor[None, :] * dw - by_mean
        tl.store(there + more * (K * apart), tl.where(tl.abs(u) <= limit, d, 0.0), (node + more < count) & (c < apart))
    part = parts + tl.program_id(0) * 3 * D + column
    tl.store(part, root * sum_dz_c, inside)
    tl.store(part + D, sum_dz, inside)
    tl.store(part + 2 * D, -mean * sum_dc, inside)


def activate(
    h: Tensor, x: Tensor | None, norming: Norming, start: Tensor, relu: bool = True, near: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """x + relu(norm(h)), and the statistics that the backward pass needs.

    Args:
        h: Embeddings, shape [N, ..., D]. There may be a gap between its rows in memory.
        x: Residual, same shape as h, contiguous, or None.
        norming: Parameters of the norm.
        start: First node of each graph, shape [G + 1].
        relu: Whether to apply the relu.
        near: Weights of the nodes in the means, shape [N, K], or None.

    Returns:
        The result, same shape as h.
        μ, shape [G K, D].
        1 / √(mean c² + ε), shape [G K, D].
    """
    K, D, grid, blocks = _cut(h, start)
    scale, shift, mean_scale, eps, limit = norming
    dtype = torch.promote_types(h.dtype, scale.dtype)
    out = h.new_empty(h.shape, dtype=dtype if x is None else torch.promote_types(dtype, x.dtype))
    means = torch.empty(grid[0], D, device=h.device)
    roots = torch.empty_like(means)
    with torch.cuda.device_of(h):
        norm_forward[grid](
            h, h if x is None else x, scale, shift, mean_scale, roots if near is None else near, out, means, roots,
            start, K, D, h.view(-1, D).stride(0), eps, limit, x is not None, relu, near is not None, **blocks,
        )  # fmt: skip
    return out, means, roots


def activate_backward(
    g: Tensor,
    h: Tensor,
    norming: Norming,
    means: Tensor,
    roots: Tensor,
    start: Tensor,
    apart: int,
    relu: bool = True,
    near: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradients from the gradient g of the output.

    Args:
        g: Gradient of the output, same shape as h, contiguous.
        h: Embeddings, as in :func:`activate`.
        norming: Parameters of the norm.
        means: μ, shape [G K, D].
        roots: 1 / √(mean c² + ε), shape [G K, D].
        start: First node of each graph, shape [G + 1].
        apart: Number of columns of the gradient of h, from D to padded(D). The padding columns are 0.
        relu: Whether the relu was applied.
        near: Weights of the nodes in the means, shape [N, K], or None.

    Returns:
        The gradient of h, shape [M, apart].
        Parts of the gradients of γ, β and α, to be summed over graphs and particles, shape [G K, 3, D].
    """
    K, D, grid, blocks = _cut(h, start)
    scale, shift, mean_scale, _, limit = norming
    stride = h.view(-1, D).stride(0)
    dh = h.new_empty(h.numel() // D, apart)
    parts = torch.empty(grid[0], 3, D, device=h.device)
    with torch.cuda.device_of(h):
        norm_back[grid](
            g, h, scale, shift, mean_scale, roots if near is None else near, means, roots, dh, parts, start,
            K, D, stride, apart, limit, relu, near is not None, **blocks,
        )  # fmt: skip
    return dh, parts


def _cut(h: Tensor, start: Tensor) -> tuple[int, int, tuple[int, int], dict[str, int]]:
    D, graphs = h.shape[-1], len(start) - 1
    K = h.shape[1:].numel() // D
    C = max(ALIGN, min(32, triton.next_power_of_2(D)))  # a multiple of ALIGN, so that the programs cover padded rows
    R = max(2, min(64, triton.next_power_of_2(-(-len(h) // graphs))))
    large = h.shape[:-1].numel() * padded(D) >= PLACES
    return K, D, (graphs * K, triton.cdiv(D, C)), {"LARGE": large, "R": R, "C": C, "num_warps": WARPS}
