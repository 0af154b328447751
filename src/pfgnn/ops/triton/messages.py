"""Triton kernels for :mod:`pfgnn.ops.messages`.

Each program handles one node with its edges, and a block of the K · D columns. For the gradient of e, it handles some
edges and a block of the D features.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.numeric import relu, relu_back
from pfgnn.ops.triton.segments import PROGRAMS

NUMBERS = 256  # entries that a program reads at once, or those of one edge if they are more


@triton.jit
def _place(start, columns, C: tl.constexpr):
    """The node, the begin and end of its edges, the columns, and which of the columns exist."""
    node = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * C + tl.arange(0, C)
    return node, tl.load(start + node), tl.load(start + node + 1), column, column < columns


@triton.jit
def messages_forward(
    x, edge_attr, own, source, start, out, D, columns, stride, EDGES: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):
    node, begin, end, column, inside = _place(start, columns, C)
    feature = column % D
    total = tl.zeros([C], tl.float32)
    for first in range(begin, end, R):  # R edges at a time, so that their loads overlap
        edge = first + tl.arange(0, R)
        there = edge < end
        mask = there[:, None] & inside[None, :]
        j = tl.load(source + edge, there, 0)
        v = tl.load(x + j[:, None] * columns + column[None, :], mask, 0.0).to(tl.float32)
        if EDGES:
            v = relu(v + tl.load(edge_attr + edge[:, None] * stride + feature[None, :], mask, 0.0).to(tl.float32))
        total += tl.sum(v, 0)
    place = node * columns + column
    total += tl.load(own).to(tl.float32) * tl.load(x + place, inside, 0.0).to(tl.float32)
    tl.store(out + place, total, inside)


@triton.jit
def messages_back(
    g, x, edge_attr, own, edges, target, start, residual, dx, parts, D, columns, stride,
    EDGES: tl.constexpr, PICKED: tl.constexpr, RESIDUAL: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The gradient of x, a sum over the edges that leave a node, and the program's part of Σ g x, the gradient of own.

    PICKED: whether ``edges`` gives the edge numbers. RESIDUAL: whether ``residual`` is added to the gradient of x.
    """
    node, begin, end, column, inside = _place(start, columns, C)
    feature = column % D
    place = node * columns + column
    mine = tl.load(x + place, inside, 0.0).to(tl.float32)
    total = tl.load(g + place, inside, 0.0).to(tl.float32)
    tl.store(parts + node * tl.num_programs(1) + tl.program_id(1), tl.sum(total * mine, 0))
    total *= tl.load(own).to(tl.float32)
    if RESIDUAL:
        total += tl.load(residual + place, inside, 0.0).to(tl.float32)
    for first in range(begin, end, R):
        p = first + tl.arange(0, R)
        there = p < end
        mask = there[:, None] & inside[None, :]
        i = tl.load(target + p, there, 0)
        d = tl.load(g + i[:, None] * columns + column[None, :], mask, 0.0).to(tl.float32)
        if EDGES:
            edge = tl.load(edges + p, there, 0) if PICKED else p
            e = tl.load(edge_attr + edge[:, None] * stride + feature[None, :], mask, 0.0).to(tl.float32)
            d = relu_back(mine[None, :] + e, d)
        total += tl.sum(d, 0)
    tl.store(dx + place, total, inside)


@triton.jit
def messages_edge_back(g, x, edge_attr, source, target, out, E, K, D, stride, R: tl.constexpr, C: tl.constexpr):
    """The gradient of e for R edges, which is a sum over the particles. Rows of e and ``out`` are ``stride`` apart."""
    edge = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    f = tl.program_id(1) * C + tl.arange(0, C)
    there = edge < E
    mask = there[:, None] & (f < D)[None, :]
    place = edge[:, None] * stride + f[None, :]
    e = tl.load(edge_attr + place, mask, 0.0).to(tl.float32)
    from_x = x + tl.load(source + edge, there, 0)[:, None] * K * D + f[None, :]
    from_g = g + tl.load(target + edge, there, 0)[:, None] * K * D + f[None, :]
    total = tl.zeros([R, C], tl.float32)
    for k in range(K):
        v = tl.load(from_x + k * D, mask, 0.0).to(tl.float32) + e
        d = tl.load(from_g + k * D, mask, 0.0).to(tl.float32)
        total += relu_back(v, d)
    tl.store(out + place, total, mask)


def messages(x: Tensor, edge_attr: Tensor | None, own: Tensor, source: Tensor, start: Tensor) -> Tensor:
    """own · x_i + Σ_p relu(x[source_p] + e_p), with the sum over the edges p that reach node i.

    Args:
        x: Embeddings, shape [N, ..., D].
        edge_attr: e, shape [E, D], sorted by target. Its rows may be more than D apart. None to sum x[source_p].
        own: Weight of a node's own embedding, shape [].
        source: Source of each edge, shape [E].
        start: First edge of each target node, shape [N + 1].

    Returns:
        The sums, same shape as x.
    """
    e = x if edge_attr is None else edge_attr
    out = torch.empty_like(x, dtype=torch.promote_types(x.dtype, e.dtype))
    if not out.numel():
        return out
    grid, tile, columns = _cut(x, len(source))
    with torch.cuda.device_of(x):
        messages_forward[grid](
            x, e, own, source, start, out, x.shape[-1], columns, e.stride(0), EDGES=edge_attr is not None, **tile
        )
    return out


def messages_backward(
    g: Tensor,
    x: Tensor,
    edge_attr: Tensor | None,
    own: Tensor,
    edges: Tensor | None,
    target: Tensor,
    start: Tensor,
    residual: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradient of x, and parts whose sum is the gradient of own, from the gradient g of the result.

    Args:
        g: Gradient of the result, same shape as x.
        x: Embeddings, shape [N, ..., D].
        edge_attr: As in :func:`messages`.
        own: Weight of a node's own embedding, shape [].
        edges: Edge numbers sorted by source, shape [E]. None if the edges are stored in this order.
        target: Target of each edge, sorted by source, shape [E].
        start: First edge of each source node in this order, shape [N + 1].
        residual: Added to the gradient of x, same shape as x, or None.
    """
    e = x if edge_attr is None else edge_attr
    dx = torch.empty_like(x)
    if not dx.numel():
        return dx, x.new_zeros(0, dtype=torch.float32)
    grid, tile, columns = _cut(x, len(target))
    parts = x.new_empty(grid, dtype=torch.float32)
    with torch.cuda.device_of(x):
        messages_back[grid](
            g, x, e, own, edges, target, start, residual, dx, parts, x.shape[-1], columns, e.stride(0),
            EDGES=edge_attr is not None, PICKED=edges is not None, RESIDUAL=residual is not None, **tile,
        )  # fmt: skip
    return dx, parts


def messages_edge_backward(
    g: Tensor, x: Tensor, edge_attr: Tensor, source: Tensor, target: Tensor, out: Tensor | None = None
) -> Tensor:
    """The gradient of e, shape [E, D], from the gradient g of the result. It is written to ``out`` if that is given."""
    out = torch.empty_like(edge_attr) if out is None else out
    if not out.numel():
        return out
    assert out.stride() == edge_attr.stride()
    D = x.shape[-1]
    K = x.shape[1] if x.dim() == 3 else 1
    C = min(128, triton.next_power_of_2(D))
    R = max(1, NUMBERS // C)
    with torch.cuda.device_of(x):
        messages_edge_back[(triton.cdiv(len(out), R), triton.cdiv(D, C))](
            g, x, edge_attr, source, target, out, len(out), K, D, out.stride(0), R=R, C=C, num_warps=1
        )
    return out


def _cut(x: Tensor, edges: int) -> tuple[tuple[int, int], dict[str, int], int]:
    """How to divide the work.

    Returns:
        The grid of nodes and blocks of columns, the tile of a program (R edges, C columns, number of warps), and the
        number of columns of a row.
    """
    columns = x[:1].numel()
    C = min(1024, triton.next_power_of_2(columns))
    while C > 128 and 2 * C * triton.cdiv(columns, C) > 3 * columns:  # else more than a third of them would not exist
        C //= 2
    while C > 64 and len(x) * triton.cdiv(columns, C) < PROGRAMS:
        C //= 2
    R = max(1, min(16, triton.next_power_of_2(max(1, -(-edges // len(x)))), NUMBERS // C))
    tile = {"R": R, "C": C, "num_warps": 1 if C < 256 else 2}
    return (len(x), triton.cdiv(columns, C)), tile, columns
