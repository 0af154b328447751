"""Triton kernels for :mod:`pfgnn.kernels.aggregate`: one program has one node's edges and a tile of the columns.

A tile is some pairs of particle and tower by some features. Messages are read again rather than kept, for they lie in
the cache, and four edges at a time, whose loads do not wait for one another: most nodes of a molecule have no more.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.kernels.aggregate import FLOOR

_AT_ONCE = tl.constexpr(4)


@triton.jit
def _place(start, rows, D: tl.constexpr, Q: tl.constexpr, C: tl.constexpr):
    node = tl.program_id(0).to(tl.int64)
    blocks = tl.cdiv(D, C)
    row = tl.program_id(1) // blocks * Q + tl.arange(0, Q)
    d = tl.program_id(1) % blocks * C + tl.arange(0, C)
    inside = (row < rows)[:, None] & (d < D)[None, :]
    return node, tl.load(start + node), tl.load(start + node + 1), row, d, inside


@triton.jit
def _message(p, r, source, edge, end, rows, row, d, inside, EDGES: tl.constexpr, T: tl.constexpr, D: tl.constexpr):
    """The message of an edge, and whether there is one: beyond the end it is the last one's again."""
    here = (edge + row * 0)[:, None] < end
    edge = tl.minimum(edge, end - 1)
    v = tl.load(p + (tl.load(source + edge) * rows + row[:, None]) * D + d[None, :], inside, 0.0).to(tl.float32)
    if EDGES:
        v += tl.load(r + (edge * T + row[:, None] % T) * D + d[None, :], inside, 0.0).to(tl.float32)
    return v, here


@triton.jit
def _moments(
    p, r, source, begin, end, rows, row, d, inside,
    EDGES: tl.constexpr, T: tl.constexpr, D: tl.constexpr, Q: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Mean, smallest, largest and variance of a node's messages, and how many there are, at least 1."""
    total = tl.zeros([Q, C], tl.float32)
    low, high = tl.full([Q, C], float("inf"), tl.float32), tl.full([Q, C], -float("inf"), tl.float32)
    for first in range(begin, end, _AT_ONCE):
        for i in tl.static_range(_AT_ONCE):
            v, here = _message(p, r, source, first + i, end, rows, row, d, inside, EDGES, T, D)
            total += tl.where(here, v, 0.0)
            low, high = tl.minimum(low, v), tl.maximum(high, v)
    n = tl.maximum(end - begin, 1).to(tl.float32)
    mean = total / n
    squares = tl.zeros([Q, C], tl.float32)
    for first in range(begin, end, _AT_ONCE):
        for i in tl.static_range(_AT_ONCE):
            v, here = _message(p, r, source, first + i, end, rows, row, d, inside, EDGES, T, D)
            squares += tl.where(here, (v - mean) * (v - mean), 0.0)
    return mean, low, high, squares / n, n


@triton.jit
def aggregate_values(
    p, r, source, start, out, rows, floor,
    EDGES: tl.constexpr, T: tl.constexpr, D: tl.constexpr, Q: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    node, begin, end, row, d, inside = _place(start, rows, D, Q, C)
    mean, low, high, variance, _ = _moments(p, r, source, begin, end, rows, row, d, inside, EDGES, T, D, Q, C)
    some = end > begin
    place = out + (node * rows + row[:, None]) * (4 * D) + d[None, :]
    tl.store(place, mean, inside)
    tl.store(place + D, tl.where(some, low, 0.0), inside)
    tl.store(place + 2 * D, tl.where(some, high, 0.0), inside)
    tl.store(place + 3 * D, tl.sqrt_rn(tl.maximum(variance, floor)), inside)


@triton.jit
def aggregate_back(
    g, p, r, source, start, out, rows, floor,
    EDGES: tl.constexpr, T: tl.constexpr, D: tl.constexpr, Q: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    node, begin, end, row, d, inside = _place(start, rows, D, Q, C)
    place = g + (node * rows + row[:, None]) * (4 * D) + d[None, :]
    of_mean, of_low = tl.load(place, inside, 0.0).to(tl.float32), tl.load(place + D, inside, 0.0).to(tl.float32)
    of_high = tl.load(place + 2 * D, inside, 0.0).to(tl.float32)
    of_std = tl.load(place + 3 * D, inside, 0.0).to(tl.float32)
    mean, low, high, variance, n = _moments(p, r, source, begin, end, rows, row, d, inside, EDGES, T, D, Q, C)
    lows, highs = tl.zeros([Q, C], tl.float32), tl.zeros([Q, C], tl.float32)  # how many messages are the extreme one
    for first in range(begin, end, _AT_ONCE):
        for i in tl.static_range(_AT_ONCE):
            v, here = _message(p, r, source, first + i, end, rows, row, d, inside, EDGES, T, D)
            lows += tl.where(here & (v == low), 1.0, 0.0)
            highs += tl.where(here & (v == high), 1.0, 0.0)
    of_mean /= n
    of_low /= tl.maximum(lows, 1.0)
    of_high /= tl.maximum(highs, 1.0)
    of_std = tl.where(variance >= floor, of_std / (n * tl.sqrt_rn(tl.maximum(variance, floor))), 0.0)
    for first in range(begin, end, _AT_ONCE):
        for i in tl.static_range(_AT_ONCE):
            edge = first + i
            v, here = _message(p, r, source, edge, end, rows, row, d, inside, EDGES, T, D)
            dv = of_mean + of_std * (v - mean) + tl.where(v == low, of_low, 0.0) + tl.where(v == high, of_high, 0.0)
            tl.store(out + (edge * rows + row[:, None]) * D + d[None, :], dv, inside & here)


def aggregate_forward(p: Tensor, r: Tensor | None, towers: int, source: Tensor, start: Tensor) -> Tensor:
    """The four aggregates: p [N, ..., T D], r [E, T D], source [E], start [N + 1] -> [N, ..., T, 4 D]."""
    out = p.new_empty(*p.shape[:-1], towers, 4 * p.shape[-1] // towers)
    _launch(aggregate_values, p, r, towers, (p, r, source, start, out))
    return out


def aggregate_backward(g: Tensor, p: Tensor, r: Tensor | None, towers: int, source: Tensor, start: Tensor) -> Tensor:
    """The gradient of every message [E, ..., T D] from that of the aggregates, g."""
    out = p.new_empty(len(source), *p.shape[1:])
    _launch(aggregate_back, p, r, towers, (g, p, r, source, start, out))
    return out


def _launch(
    kernel: triton.JITFunction, p: Tensor, r: Tensor | None, towers: int, pointers: tuple[Tensor | None, ...]
) -> None:
    D = p.shape[-1] // towers
    rows = p[:1].numel() // D
    Q, C = min(8, triton.next_power_of_2(rows)), min(32, triton.next_power_of_2(D))
    grid = (len(p), triton.cdiv(rows, Q) * triton.cdiv(D, C))
    with torch.cuda.device_of(p):
        kernel[grid](*pointers, rows, FLOOR, EDGES=r is not None, T=towers, D=D, Q=Q, C=C, num_warps=2)
