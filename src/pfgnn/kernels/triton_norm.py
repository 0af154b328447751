"""Triton kernels for :mod:`pfgnn.kernels.norm`: one program has all nodes of a graph, one particle, some features."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.kernels.triton_rows import narrow, padded


@triton.jit
def _place(start, K, D, C: tl.constexpr):
    graph, particle = tl.program_id(0) // K, tl.program_id(0) % K
    begin, end = tl.load(start + graph), tl.load(start + graph + 1)
    column = tl.program_id(1) * C + tl.arange(0, C)
    return particle, begin, end, column, column < D, tl.maximum(end - begin, 1).to(tl.float32)


@triton.jit
def _tile(first, end, particle, inside, K, R: tl.constexpr):
    """R rows from a first one on, [R, 1], and where they and the columns are real, [R, C]."""
    row = (first + tl.arange(0, R))[:, None]
    return row * K + particle, (row < end) & inside[None, :]


@triton.jit
def norm_forward(
    h, x, scale, shift, mean_scale, out, means, roots, start, K, D, stride, eps, limit,
    RESIDUAL: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    particle, begin, end, column, inside, n = _place(start, K, D, C)
    c = column[None, :]
    m, here = _tile(begin, end, particle, inside, K, R)  # the first rows, for most graphs all, stay on the chip
    v = tl.clamp(tl.load(h + m * stride + c, here, 0.0).to(tl.float32), -limit, limit)
    total = tl.sum(v, 0)
    for first in range(begin + R, end, R):
        row, mask = _tile(first, end, particle, inside, K, R)
        total += tl.sum(tl.clamp(tl.load(h + row * stride + c, mask, 0.0).to(tl.float32), -limit, limit), 0)
    mean = total / n
    middle = tl.load(mean_scale + column, inside, 0.0).to(tl.float32) * mean
    v = tl.where(here, v - middle[None, :], 0.0)
    squares = tl.sum(v * v, 0)
    for first in range(begin + R, end, R):
        row, mask = _tile(first, end, particle, inside, K, R)
        w = tl.clamp(tl.load(h + row * stride + c, mask, 0.0).to(tl.float32), -limit, limit)
        w = tl.where(mask, w - middle[None, :], 0.0)
        squares += tl.sum(w * w, 0)
    root = 1 / tl.sqrt_rn(squares / n + eps)
    factor = tl.load(scale + column, inside, 0.0).to(tl.float32) * root
    offset = tl.load(shift + column, inside, 0.0).to(tl.float32)
    y = tl.maximum(v * factor[None, :] + offset[None, :], 0.0)
    if RESIDUAL:
        y += tl.load(x + m * D + c, here, 0.0).to(tl.float32)
    tl.store(out + m * D + c, y, here)
    for first in range(begin + R, end, R):
        row, mask = _tile(first, end, particle, inside, K, R)
        w = tl.clamp(tl.load(h + row * stride + c, mask, 0.0).to(tl.float32), -limit, limit)
        y = tl.maximum((w - middle[None, :]) * factor[None, :] + offset[None, :], 0.0)
        if RESIDUAL:
            y += tl.load(x + row * D + c, mask, 0.0).to(tl.float32)
        tl.store(out + row * D + c, y, mask)
    tl.store(means + tl.program_id(0) * D + column, mean, inside)
    tl.store(roots + tl.program_id(0) * D + column, root, inside)


@triton.jit
def _centred(g, h, m, mask, c, D, stride, limit, middle, factor, beta):
    """h as it is, h - α μ, and the gradient before the activation."""
    v = tl.load(h + m * stride + c, mask, 0.0).to(tl.float32)
    centred = tl.where(mask, tl.clamp(v, -limit, limit) - middle[None, :], 0.0)
    dz = tl.load(g + m * D + c, mask, 0.0).to(tl.float32)
    return v, centred, tl.where(centred * factor[None, :] + beta[None, :] > 0, dz, 0.0)


@triton.jit
def norm_back(
    g, h, scale, shift, mean_scale, means, roots, dh, parts, start, K, D, stride, apart, limit,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    particle, begin, end, column, inside, n = _place(start, K, D, C)
    own, c = tl.program_id(0) * D + column, column[None, :]
    mean, root = tl.load(means + own, inside, 0.0), tl.load(roots + own, inside, 0.0)
    alpha = tl.load(mean_scale + column, inside, 0.0).to(tl.float32)
    beta = tl.load(shift + column, inside, 0.0).to(tl.float32)
    middle, factor = alpha * mean, tl.load(scale + column, inside, 0.0).to(tl.float32) * root
    m, here = _tile(begin, end, particle, inside, K, R)
    v, centred, dz = _centred(g, h, m, here, c, D, stride, limit, middle, factor, beta)
    sum_dz, sum_dz_c, sum_c = tl.sum(dz, 0), tl.sum(dz * centred, 0), tl.sum(centred, 0)
    for first in range(begin + R, end, R):
        row, mask = _tile(first, end, particle, inside, K, R)
        _, w, dw = _centred(g, h, row, mask, c, D, stride, limit, middle, factor, beta)
        sum_dz += tl.sum(dw, 0)
        sum_dz_c += tl.sum(dw * w, 0)
        sum_c += tl.sum(w, 0)
    # z = γ c r + β, r = (mean c² + ε)^(-1/2): dc = γ r dz - c γ r³ / n Σ dz c, and h moves c by 1 - α / n.
    pull = factor * root * root * sum_dz_c / n
    sum_dc = factor * sum_dz - pull * sum_c
    back = alpha * sum_dc / n
    d = factor[None, :] * dz - pull[None, :] * centred - back[None, :]
    wide = column < apart  # zeros between the rows of dh
    m, here = _tile(begin, end, particle, wide, K, R)
    tl.store(dh + m * apart + c, tl.where(tl.abs(v) <= limit, d, 0.0), here)
    for first in range(begin + R, end, R):
        row, mask = _tile(first, end, particle, inside, K, R)
        u, w, dw = _centred(g, h, row, mask, c, D, stride, limit, middle, factor, beta)
        d = factor[None, :] * dw - pull[None, :] * w - back[None, :]
        row, mask = _tile(first, end, particle, wide, K, R)
        tl.store(dh + row * apart + c, tl.where(tl.abs(u) <= limit, d, 0.0), mask)
    part = parts + tl.program_id(0) * 3 * D + column
    tl.store(part, root * sum_dz_c, inside)
    tl.store(part + D, sum_dz, inside)
    tl.store(part + 2 * D, -mean * sum_dc, inside)


def activate(
    h: Tensor,
    x: Tensor | None,
    scale: Tensor,
    shift: Tensor,
    mean_scale: Tensor,
    eps: float,
    limit: float,
    start: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """x + relu(norm(h)), and for the way back μ and 1 / √(mean c² + ε), [G K, D] each.

    All contiguous, but for h, whose rows may be apart.
    """
    K, D, grid, blocks = _cut(h, start)
    out = h.new_empty(h.shape, dtype=h.dtype if x is None else torch.promote_types(h.dtype, x.dtype))
    means = torch.empty(grid[0], D, device=h.device)
    roots = torch.empty_like(means)
    with torch.cuda.device_of(h):
        norm_forward[grid](
            h, x, scale, shift, mean_scale, out, means, roots, start, K, D, h.view(-1, D).stride(0), eps, limit,
            x is not None, **blocks,
        )  # fmt: skip
    return out, means, roots


def activate_backward(
    g: Tensor,
    limit: float,
    start: Tensor,
    h: Tensor,
    scale: Tensor,
    shift: Tensor,
    mean_scale: Tensor,
    means: Tensor,
    roots: Tensor,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Gradients of h, γ, β and α from that of the output, g; that of h in padded rows, if h has them."""
    K, D, grid, blocks = _cut(h, start)
    stride = h.view(-1, D).stride(0)
    apart = padded(D) if stride == padded(D) else D
    dh = h.new_empty(h.numel() // D, apart)
    parts = torch.empty(grid[0], 3, D, device=h.device)
    with torch.cuda.device_of(h):
        norm_back[grid](
            g, h, scale, shift, mean_scale, means, roots, dh, parts, start, K, D, stride, apart, limit, **blocks
        )
    return narrow(dh, h.shape), parts.sum(0).to(scale.dtype).unbind()


def _cut(h: Tensor, start: Tensor) -> tuple[int, int, tuple[int, int], dict[str, int]]:
    D, graphs = h.shape[-1], len(start) - 1
    K = h.shape[1:].numel() // D
    C = min(32, triton.next_power_of_2(D))
    R = max(2, min(64, triton.next_power_of_2(-(-3 * len(h) // (2 * graphs)))))  # half as many again as on average
    return K, D, (graphs * K, triton.cdiv(D, C)), {"R": R, "C": C}
