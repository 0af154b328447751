"""Triton kernels for :mod:`pfgnn.kernels.aggregate`: one program has one node's edges and a tile of the columns.

A tile is some pairs of particle and tower by some features. On the way back the messages are read again rather than
kept: they lie in the cache.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.kernels.aggregate import FLOOR


@triton.jit
def _tile(start, rows, W, D: tl.constexpr, T: tl.constexpr, Q: tl.constexpr, C: tl.constexpr):
    """The node, its edges, and the tile: places in a node's part of pre, in an edge's of r and in one of messages."""
    node = tl.program_id(0).to(tl.int64)
    blocks: tl.constexpr = (D + C - 1) // C
    row = (tl.program_id(1) // blocks * Q + tl.arange(0, Q))[:, None]
    d = (tl.program_id(1) % blocks * C + tl.arange(0, C))[None, :]
    inside = (row < rows) & (d < D)
    of_edge = row % T * D + d
    return node, tl.load(start + node), tl.load(start + node + 1), row, d, inside, row // T * W + of_edge, of_edge


@triton.jit
def _message(p, r, edge, j, columns, of_node, of_edge, inside, EDGES: tl.constexpr, TD: tl.constexpr):
    v = tl.load(p + j * columns + of_node, inside, 0.0).to(tl.float32)
    if EDGES:
        v += tl.load(r + edge * TD + of_edge, inside, 0.0).to(tl.float32)
    return v


@triton.jit
def _moments(
    p, r, source, begin, end, columns, of_node, of_edge, inside,
    EDGES: tl.constexpr, TD: tl.constexpr, Q: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Mean, smallest, largest, variance, how many are smallest and largest, and how many there are, at least 1.

    The variance is summed around the first message, so that it is exactly 0 where all are equal.
    """
    zero = tl.zeros([Q, C], tl.float32)
    first, total, squares, lows, highs = zero, zero, zero, zero, zero
    low, high = zero + float("inf"), zero - float("inf")
    for edge in range(begin, end):
        v = _message(p, r, edge, tl.load(source + edge), columns, of_node, of_edge, inside, EDGES, TD)
        if edge == begin:
            first = v
        c = v - first
        total += c
        squares += c * c
        lows = tl.where(v < low, 1.0, tl.where(v == low, lows + 1.0, lows))
        highs = tl.where(v > high, 1.0, tl.where(v == high, highs + 1.0, highs))
        low, high = tl.minimum(low, v), tl.maximum(high, v)
    n = tl.maximum(end - begin, 1).to(tl.float32)
    shift = total / n
    return first + shift, low, high, squares / n - shift * shift, lows, highs, n


@triton.jit
def aggregate_values(
    pre, r, source, start, out, rows, columns, W, nodes_by_particles, floor,
    EDGES: tl.constexpr, T: tl.constexpr, D: tl.constexpr, Q: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    node, begin, end, row, d, inside, of_node, of_edge = _tile(start, rows, W, D, T, Q, C)
    mean, low, high, variance, _, _, _ = _moments(
        pre, r, source, begin, end, columns, of_node, of_edge, inside, EDGES, T * D, Q, C
    )
    q = tl.load(pre + node * columns + T * D + of_node, inside, 0.0).to(tl.float32)
    some = end > begin
    place = out + (row % T * nodes_by_particles + node * (rows // T) + row // T) * (4 * D) + d
    tl.store(place, tl.where(some, mean + q, 0.0), inside)
    tl.store(place + D, tl.where(some, low + q, 0.0), inside)
    tl.store(place + 2 * D, tl.where(some, high + q, 0.0), inside)
    tl.store(place + 3 * D, tl.where(variance > floor, tl.sqrt_rn(tl.maximum(variance, floor)), 0.0), inside)


@triton.jit
def aggregate_back(
    pre, r, source, start, g, d_pre, messages, rows, columns, W, nodes_by_particles, floor,
    EDGES: tl.constexpr, T: tl.constexpr, D: tl.constexpr, Q: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    node, begin, end, row, d, inside, of_node, of_edge = _tile(start, rows, W, D, T, Q, C)
    place = g + (row % T * nodes_by_particles + node * (rows // T) + row // T) * (4 * D) + d
    of_mean, of_low = tl.load(place, inside, 0.0).to(tl.float32), tl.load(place + D, inside, 0.0).to(tl.float32)
    of_high = tl.load(place + 2 * D, inside, 0.0).to(tl.float32)
    of_std = tl.load(place + 3 * D, inside, 0.0).to(tl.float32)
    of_q = tl.where(end > begin, of_mean + of_low + of_high, 0.0)
    tl.store(d_pre + node * columns + T * D + of_node, of_q, inside)
    mean, low, high, variance, lows, highs, n = _moments(
        pre, r, source, begin, end, columns, of_node, of_edge, inside, EDGES, T * D, Q, C
    )
    of_mean /= n
    of_low /= tl.maximum(lows, 1.0)
    of_high /= tl.maximum(highs, 1.0)
    of_std = tl.where(variance > floor, of_std / (n * tl.sqrt_rn(tl.maximum(variance, floor))), 0.0)
    for edge in range(begin, end):
        v = _message(pre, r, edge, tl.load(source + edge), columns, of_node, of_edge, inside, EDGES, T * D)
        dv = of_mean + of_std * (v - mean) + tl.where(v == low, of_low, 0.0) + tl.where(v == high, of_high, 0.0)
        tl.store(messages + edge * rows * D + row * D + d, dv, inside)


@triton.jit
def sum_messages_kernel(messages, order, start, d_pre, particles, width, W, C: tl.constexpr):
    """A node's edges' gradients, summed into its part of d_pre, one particle at a time."""
    node = tl.program_id(0).to(tl.int64)
    blocks = tl.cdiv(width, C)
    k, column = tl.program_id(1) // blocks, tl.program_id(1) % blocks * C + tl.arange(0, C)
    inside = column < width
    total = tl.zeros([C], tl.float32)
    for place in range(tl.load(start + node), tl.load(start + node + 1)):
        edge = tl.load(order + place)
        total += tl.load(messages + (edge * particles + k) * width + column, inside, 0.0).to(tl.float32)
    tl.store(d_pre + (node * particles + k) * W + column, total, inside)


@triton.jit
def scale_values(
    y, own, start, out, count, nodes_by_particles, particles, delta,
    T: tl.constexpr, F: tl.constexpr, BACK: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Forward from y and own to out; BACK from out's gradient, in out's place, to that of y."""
    place = tl.program_id(0) * B + tl.arange(0, B)
    inside = place < count
    m, column = place // (T * F), place % (T * F)
    node = m // particles
    degree = tl.load(start + node + 1, inside, 1) - tl.load(start + node, inside, 0)
    s = tl.log(tl.maximum(degree, 1).to(tl.float32) + 1.0) / delta
    there = y + (column // F * nodes_by_particles + m).to(tl.int64) * (3 * F) + column % F
    if BACK:
        g = tl.load(out + place, inside, 0.0).to(tl.float32)
        tl.store(there, g, inside)
        tl.store(there + F, g * s, inside)
        tl.store(there + 2 * F, g / s, inside)
    else:
        one, two = tl.load(there, inside, 0.0).to(tl.float32), tl.load(there + F, inside, 0.0).to(tl.float32)
        three = tl.load(there + 2 * F, inside, 0.0).to(tl.float32)
        total = one + s * two + three / s + tl.load(own + place, inside, 0.0).to(tl.float32)
        tl.store(out + place, total, inside)


def aggregate_forward(pre: Tensor, r: Tensor | None, towers: int, source: Tensor, start: Tensor) -> Tensor:
    """The four aggregates: pre [N, K, 2 T D + D], r [E, T D], source [E], start [N + 1] -> [T, N K, 4 D]."""
    D, M = pre.shape[-1] // (2 * towers + 1), pre.shape[0] * pre.shape[1]
    out = pre.new_empty(towers, M, 4 * D)
    _launch(aggregate_values, pre, r, towers, (pre, r, source, start, out))
    return out


def aggregate_backward(
    g: Tensor, pre: Tensor, r: Tensor | None, towers: int, source: Tensor, start: Tensor, d_pre: Tensor
) -> Tensor:
    """The gradient of every message [E, K, T D] from that of the aggregates, g; that of q goes into d_pre."""
    D = pre.shape[-1] // (2 * towers + 1)
    messages = pre.new_empty(len(source), pre.shape[1], towers * D)
    _launch(aggregate_back, pre, r, towers, (pre, r, source, start, g, d_pre, messages))
    return messages


def _launch(
    kernel: triton.JITFunction, pre: Tensor, r: Tensor | None, towers: int, pointers: tuple[Tensor | None, ...]
) -> None:
    N, K, W = pre.shape
    D, rows = W // (2 * towers + 1), K * towers
    Q, C = min(8, triton.next_power_of_2(rows)), min(32, triton.next_power_of_2(D))
    grid = (N, triton.cdiv(rows, Q) * triton.cdiv(D, C))
    with torch.cuda.device_of(pre):
        kernel[grid](*pointers, rows, K * W, W, N * K, FLOOR, EDGES=r is not None, T=towers, D=D, Q=Q, C=C, num_warps=2)


def sum_messages(messages: Tensor, order: Tensor, start: Tensor, d_pre: Tensor) -> None:
    """The gradient of p, in d_pre's first columns: messages [E, K, T D], the edges of each node in order."""
    _, K, width = messages.shape
    C = min(256, triton.next_power_of_2(width))
    with torch.cuda.device_of(messages):
        sum_messages_kernel[(len(d_pre), K * triton.cdiv(width, C))](
            messages, order, start, d_pre, K, width, d_pre.shape[2], C=C
        )


def scale_forward(y: Tensor, own: Tensor, delta: float, start: Tensor) -> Tensor:
    """y_1 + s y_2 + y_3 / s + own: y [T, M, 3 F], own [M, T F] -> [M, T F]."""
    out = torch.empty_like(own)
    _scale(y, own, out, delta, start, back=False)
    return out


def scale_backward(g: Tensor, towers: int, delta: float, start: Tensor) -> Tensor:
    """The gradient of y [T, M, 3 F] from that of the output, g [M, T F]."""
    y = g.new_empty(towers, len(g), 3 * g.shape[1] // towers)
    _scale(y, None, g, delta, start, back=True)
    return y


def _scale(y: Tensor, own: Tensor | None, out: Tensor, delta: float, start: Tensor, back: bool) -> None:
    T, M, B = len(y), len(out), 256
    with torch.cuda.device_of(out):
        scale_values[(triton.cdiv(out.numel(), B),)](
            y, own, start, out, out.numel(), M, M // (len(start) - 1), delta, T=T, F=y.shape[2] // 3, BACK=back, B=B
        )
