"""Triton kernels for :mod:`pfgnn.kernels.aggregate`: one program has one node's edges, and some of the columns.

A column is a particle, a tower and a feature. The messages are read again rather than kept: they lie in the cache.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.kernels.aggregate import FLOOR


@triton.jit
def _message(p, r, source, edge, columns, column, inside, EDGES: tl.constexpr, TD: tl.constexpr):
    v = tl.load(p + tl.load(source + edge) * columns + column, inside, 0.0).to(tl.float32)
    if EDGES:
        v += tl.load(r + edge * TD + column % TD, inside, 0.0).to(tl.float32)
    return v


@triton.jit
def _moments(p, r, source, begin, end, columns, column, inside, EDGES: tl.constexpr, TD: tl.constexpr, C: tl.constexpr):
    """Mean, smallest, largest and variance of a node's messages."""
    total = tl.zeros([C], tl.float32)
    low, high = tl.full([C], float("inf"), tl.float32), tl.full([C], -float("inf"), tl.float32)
    for edge in range(begin, end):
        v = _message(p, r, source, edge, columns, column, inside, EDGES, TD)
        total += v
        low, high = tl.minimum(low, v), tl.maximum(high, v)
    n = tl.maximum(end - begin, 1).to(tl.float32)
    mean = total / n
    squares = tl.zeros([C], tl.float32)
    for edge in range(begin, end):
        c = _message(p, r, source, edge, columns, column, inside, EDGES, TD) - mean
        squares += c * c
    return mean, low, high, squares / n, n


@triton.jit
def aggregate_values(
    p, r, source, start, out, columns, floor,
    EDGES: tl.constexpr, TD: tl.constexpr, D: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    node = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < columns
    begin, end = tl.load(start + node), tl.load(start + node + 1)
    mean, low, high, variance, _ = _moments(p, r, source, begin, end, columns, column, inside, EDGES, TD, C)
    some = end > begin
    place = out + node * 4 * columns + (column // D) * (4 * D) + column % D
    tl.store(place, mean, inside)
    tl.store(place + D, tl.where(some, low, 0.0), inside)
    tl.store(place + 2 * D, tl.where(some, high, 0.0), inside)
    tl.store(place + 3 * D, tl.sqrt_rn(tl.maximum(variance, floor)), inside)


@triton.jit
def aggregate_back(
    g, p, r, source, start, out, columns, floor,
    EDGES: tl.constexpr, TD: tl.constexpr, D: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    node = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < columns
    begin, end = tl.load(start + node), tl.load(start + node + 1)
    mean, low, high, variance, n = _moments(p, r, source, begin, end, columns, column, inside, EDGES, TD, C)
    lows, highs = tl.zeros([C], tl.float32), tl.zeros([C], tl.float32)  # how many messages are the extreme one
    for edge in range(begin, end):
        v = _message(p, r, source, edge, columns, column, inside, EDGES, TD)
        lows += tl.where(v == low, 1.0, 0.0)
        highs += tl.where(v == high, 1.0, 0.0)
    place = g + node * 4 * columns + (column // D) * (4 * D) + column % D
    of_mean = tl.load(place, inside, 0.0).to(tl.float32) / n
    of_low = tl.load(place + D, inside, 0.0).to(tl.float32) / tl.maximum(lows, 1.0)
    of_high = tl.load(place + 2 * D, inside, 0.0).to(tl.float32) / tl.maximum(highs, 1.0)
    of_std = tl.load(place + 3 * D, inside, 0.0).to(tl.float32)
    of_std = tl.where(variance >= floor, of_std / (n * tl.sqrt_rn(tl.maximum(variance, floor))), 0.0)
    for edge in range(begin, end):
        v = _message(p, r, source, edge, columns, column, inside, EDGES, TD)
        d = of_mean + of_std * (v - mean) + tl.where(v == low, of_low, 0.0) + tl.where(v == high, of_high, 0.0)
        tl.store(out + edge * columns + column, d, inside)


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
    columns, TD = p[:1].numel(), p.shape[-1]
    C = min(512, triton.next_power_of_2(columns))
    with torch.cuda.device_of(p):
        kernel[(len(p), triton.cdiv(columns, C))](
            *pointers, columns, FLOOR, EDGES=r is not None, TD=TD, D=TD // towers, C=C
        )
