"""Triton kernels for :mod:`pfgnn.kernels.messages`.

One program has one node, its edges and a block of the K · D columns; for the gradient of e, one edge and a block of the
D features.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.kernels.triton_numeric import relu
from pfgnn.kernels.triton_segments import PROGRAMS


@triton.jit
def _place(start, columns, C: tl.constexpr):
    """The node, where its edges begin and end, the columns, and which of these are real."""
    node = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * C + tl.arange(0, C)
    return node, tl.load(start + node), tl.load(start + node + 1), column, column < columns


@triton.jit
def messages_forward(x, edge_attr, own, source, start, out, D, columns, R: tl.constexpr, C: tl.constexpr):
    node, begin, end, column, inside = _place(start, columns, C)
    feature = column % D
    total = tl.zeros([C], tl.float32)
    for first in range(begin, end, R):  # R edges at a time, whose loads do not wait for one another
        edge = first + tl.arange(0, R)
        there = edge < end
        mask = there[:, None] & inside[None, :]
        j = tl.load(source + edge, there, 0)
        v = tl.load(x + j[:, None] * columns + column[None, :], mask, 0.0).to(tl.float32)
        v += tl.load(edge_attr + edge[:, None] * D + feature[None, :], mask, 0.0).to(tl.float32)
        total += tl.sum(relu(v), 0)
    place = node * columns + column
    total += tl.load(own).to(tl.float32) * tl.load(x + place, inside, 0.0).to(tl.float32)
    tl.store(out + place, total, inside)


@triton.jit
def messages_back(
    g, x, edge_attr, own, edges, target, start, dx, parts, D, columns,
    PICKED: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The gradient of x over the edges that leave a node, and the program's share of Σ g x, which is that of own."""
    node, begin, end, column, inside = _place(start, columns, C)
    feature = column % D
    place = node * columns + column
    mine = tl.load(x + place, inside, 0.0).to(tl.float32)
    total = tl.load(g + place, inside, 0.0).to(tl.float32)
    tl.store(parts + node * tl.num_programs(1) + tl.program_id(1), tl.sum(total * mine, 0))
    total *= tl.load(own).to(tl.float32)
    for first in range(begin, end, R):
        p = first + tl.arange(0, R)
        there = p < end
        mask = there[:, None] & inside[None, :]
        edge = tl.load(edges + p, there, 0) if PICKED else p
        i = tl.load(target + p, there, 0)
        v = mine[None, :] + tl.load(edge_attr + edge[:, None] * D + feature[None, :], mask, 0.0).to(tl.float32)
        d = tl.load(g + i[:, None] * columns + column[None, :], mask, 0.0).to(tl.float32)
        total += tl.sum(tl.where(v <= 0, 0.0, d), 0)  # as torch's relu: the gradient passes where v is NaN
    tl.store(dx + place, total, inside)


@triton.jit
def messages_edge_back(g, x, edge_attr, source, target, out, K, D, Q: tl.constexpr, C: tl.constexpr):
    """The gradient of e: the sum over the particles, Q at a time."""
    edge = tl.program_id(0).to(tl.int64)
    f = tl.program_id(1) * C + tl.arange(0, C)
    e = tl.load(edge_attr + edge * D + f, f < D, 0.0).to(tl.float32)
    from_x, from_g = x + tl.load(source + edge) * K * D, g + tl.load(target + edge) * K * D
    total = tl.zeros([C], tl.float32)
    for first in range(0, K, Q):
        k = first + tl.arange(0, Q)
        mask = (k < K)[:, None] & (f < D)[None, :]
        place = k[:, None] * D + f[None, :]
        v = tl.load(from_x + place, mask, 0.0).to(tl.float32) + e[None, :]
        d = tl.load(from_g + place, mask, 0.0).to(tl.float32)
        total += tl.sum(tl.where(v <= 0, 0.0, d), 0)
    tl.store(out + edge * D + f, total, f < D)


def messages(x: Tensor, edge_attr: Tensor, own: Tensor, source: Tensor, start: Tensor) -> Tensor:
    """own · x_i + Σ_p relu(x[source_p] + e_p) over the edges p of node i: x [N, ..., D], start [N + 1] -> like x."""
    out = torch.empty_like(x, dtype=torch.promote_types(x.dtype, edge_attr.dtype))
    if not out.numel():
        return out
    grid, tile, columns = _cut(x, len(edge_attr))
    with torch.cuda.device_of(x):
        messages_forward[grid](x, edge_attr, own, source, start, out, x.shape[-1], columns, **tile)
    return out


def messages_backward(
    g: Tensor, x: Tensor, edge_attr: Tensor, own: Tensor, edges: Tensor | None, target: Tensor, start: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradient of x from that of the result, g, and shares whose sum is the gradient of own.

    Of the edges sorted by their sources, ``edges`` are the numbers (None if they lie so), ``target`` the other ends.
    """
    dx = torch.empty_like(x)
    if not dx.numel():
        return dx, x.new_zeros(0, dtype=torch.float32)
    grid, tile, columns = _cut(x, len(edge_attr))
    parts = x.new_empty(grid, dtype=torch.float32)
    with torch.cuda.device_of(x):
        messages_back[grid](
            g, x, edge_attr, own, edges, target, start, dx, parts, x.shape[-1], columns,
            PICKED=edges is not None, **tile,
        )  # fmt: skip
    return dx, parts


def messages_edge_backward(g: Tensor, x: Tensor, edge_attr: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """The gradient of e from that of the result, g: [E, D]."""
    out = torch.empty_like(edge_attr)
    if not out.numel():
        return out
    D = x.shape[-1]
    K = x.shape[1] if x.dim() == 3 else 1
    C = min(256, triton.next_power_of_2(D))
    Q = min(triton.next_power_of_2(max(K, 1)), 1024 // C)
    with torch.cuda.device_of(x):
        messages_edge_back[(len(out), triton.cdiv(D, C))](
            g, x, edge_attr, source, target, out, K, D, Q=Q, C=C, num_warps=max(1, min(4, Q * C // 256))
        )
    return out


def _cut(x: Tensor, edges: int) -> tuple[tuple[int, int], dict[str, int], int]:
    """The grid of nodes and blocks of columns, R edges and C columns of a program at once, and the columns of a row."""
    columns = x[:1].numel()
    C = min(1024, triton.next_power_of_2(columns))
    while C > 64 and len(x) * triton.cdiv(columns, C) < PROGRAMS:
        C //= 2
    R = max(1, min(16, triton.next_power_of_2(max(1, -(-edges // len(x)))), 1024 // C))
    return (len(x), triton.cdiv(columns, C)), {"R": R, "C": C}, columns
