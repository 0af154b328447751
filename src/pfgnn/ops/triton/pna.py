"""Triton kernels that aggregate the messages of :mod:`pfgnn.ops.pna`.

Each program handles the edges of one node, and a tile of some rows (pairs of particle and tower) and some features. The
backward pass computes the messages again instead of storing them. This is fast, because their inputs are in the GPU's
cache.

Names in the kernels: K particles, T towers, F features per tower (padded), MP = M' rows, E edges. ``pre`` [T, M', 3 F]
holds p = A x, q = B x and own, and ``r`` [E, T F] holds C e.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.pna import FLOOR
from pfgnn.ops.triton.numeric import maximum, minimum

FORWARD, BACK = (8, 32, 2, 2), (8, 32, 1, 2)  # per program: rows of its tile, features of it, edges at once, warps


@triton.jit
def _tile(start, MP, K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, Q: tl.constexpr, C: tl.constexpr):
    """The place of a program.

    Returns:
        The node, the begin and end of its edges, the rows (particle and tower) and features of the tile, which of them
        exist, the row of pre for each row of the tile (for node 0), and its column in r.
    """
    node = tl.program_id(0).to(tl.int64)
    blocks: tl.constexpr = (F + C - 1) // C
    row = (tl.program_id(1) // blocks * Q + tl.arange(0, Q))[:, None]
    f = (tl.program_id(1) % blocks * C + tl.arange(0, C))[None, :]
    inside = (row < K * T) & (f < F)
    begin, end = tl.load(start + node), tl.load(start + node + 1)
    return node, begin, end, row, f, inside, row % T * MP + row // T, row % T * F + f


@triton.jit
def _message(
    pre, r, source, edge, there, of_row, of_edge, f, mask, EDGES: tl.constexpr, K: tl.constexpr, T: tl.constexpr,
    F: tl.constexpr,
):  # fmt: skip
    j = tl.load(source + edge, there, 0)
    v = tl.load(pre + (of_row + j * K) * (3 * F) + f, mask, 0.0).to(tl.float32)
    if EDGES:
        v += tl.load(r + edge * (T * F) + of_edge, mask, 0.0).to(tl.float32)
    return v


@triton.jit
def _moments(
    pre, r, source, begin, end, of_row, of_edge, f, inside,
    COUNT: tl.constexpr, EDGES: tl.constexpr, K: tl.constexpr, T: tl.constexpr, F: tl.constexpr,
    Q: tl.constexpr, C: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """Statistics of the messages to a node.

    The variance is computed around the first message, so that it is exactly 0 if all are equal. The loop takes U edges
    at a time, so that their loads overlap.

    Returns:
        Mean, smallest, largest, variance, how many messages have the smallest and the largest value (only if COUNT),
        and the number of messages, at least 1.
    """
    zero = tl.zeros([Q, C], tl.float32)
    total, squares, lows, highs = zero, zero, zero, zero
    low, high = zero + float("inf"), zero - float("inf")
    some = begin < end
    first = _message(pre, r, source, begin, some, of_row, of_edge, f, inside & some, EDGES, K, T, F)
    for start in range(begin, end, U):
        for u in tl.static_range(U):
            edge = start + u
            there = edge < end
            v = _message(pre, r, source, edge, there, of_row, of_edge, f, inside & there, EDGES, K, T, F)
            c = tl.where(there, v - first, 0.0)
            total += c
            squares += c * c
            if COUNT:
                lows = tl.where(there & (v <= low), tl.where(v < low, 1.0, lows + 1.0), lows)
                highs = tl.where(there & (v >= high), tl.where(v > high, 1.0, highs + 1.0), highs)
            low, high = tl.where(there, minimum(low, v), low), tl.where(there, maximum(high, v), high)
    n = tl.maximum(end - begin, 1).to(tl.float32)
    shift = total / n
    return first + shift, low, high, squares / n - shift * shift, lows, highs, n


@triton.jit
def aggregate_forward(
    pre, r, source, start, out, MP, floor,
    EDGES: tl.constexpr, K: tl.constexpr, T: tl.constexpr, F: tl.constexpr,
    Q: tl.constexpr, C: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    node, begin, end, _, f, inside, of_row, of_edge = _tile(start, MP, K, T, F, Q, C)
    mean, low, high, variance, _, _, _ = _moments(
        pre, r, source, begin, end, of_row, of_edge, f, inside, False, EDGES, K, T, F, Q, C, U
    )
    own = of_row + node * K
    q = tl.load(pre + own * (3 * F) + F + f, inside, 0.0).to(tl.float32)
    some = end > begin
    place = out + own * (4 * F) + f
    tl.store(place, tl.where(some, mean + q, 0.0), inside)
    tl.store(place + F, tl.where(some, low + q, 0.0), inside)
    tl.store(place + 2 * F, tl.where(some, high + q, 0.0), inside)
    tl.store(place + 3 * F, tl.where(variance > floor, tl.sqrt_rn(tl.maximum(variance, floor)), 0.0), inside)


@triton.jit
def aggregate_back(
    pre, r, source, start, g, d_pre, messages, MP, floor,
    EDGES: tl.constexpr, K: tl.constexpr, T: tl.constexpr, F: tl.constexpr,
    Q: tl.constexpr, C: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    node, begin, end, row, f, inside, of_row, of_edge = _tile(start, MP, K, T, F, Q, C)
    own = of_row + node * K
    place = g + own * (4 * F) + f
    of_mean, of_low = tl.load(place, inside, 0.0).to(tl.float32), tl.load(place + F, inside, 0.0).to(tl.float32)
    of_high = tl.load(place + 2 * F, inside, 0.0).to(tl.float32)
    of_std = tl.load(place + 3 * F, inside, 0.0).to(tl.float32)
    of_q = tl.where(end > begin, of_mean + of_low + of_high, 0.0)
    tl.store(d_pre + own * (3 * F) + F + f, of_q, inside)
    mean, low, high, variance, lows, highs, n = _moments(
        pre, r, source, begin, end, of_row, of_edge, f, inside, True, EDGES, K, T, F, Q, C, U
    )
    of_mean /= n
    of_low /= tl.maximum(lows, 1.0)
    of_high /= tl.maximum(highs, 1.0)
    of_std = tl.where(variance > floor, of_std / (n * tl.sqrt_rn(tl.maximum(variance, floor))), 0.0)
    for edge in range(begin, end):
        v = _message(pre, r, source, edge, True, of_row, of_edge, f, inside, EDGES, K, T, F)
        dv = of_mean + of_std * (v - mean) + tl.where(v == low, of_low, 0.0) + tl.where(v == high, of_high, 0.0)
        tl.store(messages + edge * (K * T * F) + row * F + f, dv, inside)


@triton.jit
def sum_of_node(messages, order, start, d_pre, MP, K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, C: tl.constexpr):
    """Sum the gradients of the messages that leave a node, for all particles and towers, into its part of d_pre."""
    node, column = tl.program_id(0).to(tl.int64), tl.program_id(1) * C + tl.arange(0, C)
    inside = column < K * T * F
    total = tl.zeros([C], tl.float32)
    for place in range(tl.load(start + node), tl.load(start + node + 1)):
        edge = tl.load(order + place)
        total += tl.load(messages + edge * (K * T * F) + column, inside, 0.0).to(tl.float32)
    row = column // F
    tl.store(d_pre + (row % T * MP + node * K + row // T) * (3 * F) + column % F, total, inside)


@triton.jit
def sum_of_edge(messages, out, K: tl.constexpr, TF: tl.constexpr, C: tl.constexpr):
    """Sum the gradients of the messages of an edge over the particles."""
    edge, column = tl.program_id(0).to(tl.int64), tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros([C], tl.float32)
    for k in range(K):
        total += tl.load(messages + (edge * K + k) * TF + column, column < TF, 0.0).to(tl.float32)
    tl.store(out + edge * TF + column, total, column < TF)


def aggregate(pre: Tensor, r: Tensor | None, M: int, K: int, source: Tensor, start: Tensor) -> Tensor:
    """The aggregates mean, min, max and std of the messages to each node.

    Args:
        pre: p, q and own of each row, shape [T, M', 3 F].
        r: C e of each edge, shape [E, T F], or None.
        M: Number of rows without padding, N K.
        K: Number of particles.
        source: Source of each edge, shape [E].
        start: First edge of each target node, shape [N + 1].

    Returns:
        The aggregates, 0 in padding rows, shape [T, M', 4 F].
    """
    T, rows, three = pre.shape
    out = pre.new_empty(T, rows, 4 * (three // 3))
    out[:, M:] = 0
    _launch(aggregate_forward, FORWARD, pre, r, M, K, (pre, r, source, start, out))
    return out


def message_gradients(
    g: Tensor, pre: Tensor, r: Tensor | None, d_pre: Tensor, M: int, K: int, source: Tensor, start: Tensor
) -> Tensor:
    """The gradient of every message, shape [E, K, T F]. The gradient of q is written into d_pre.

    Args:
        g: Gradient of the aggregates, shape [T, M', 4 F].
        pre: As in :func:`aggregate`.
        r: As in :func:`aggregate`.
        d_pre: Gradient of pre, same shape as pre, to write to.
        M: As in :func:`aggregate`.
        K: As in :func:`aggregate`.
        source: As in :func:`aggregate`.
        start: As in :func:`aggregate`.
    """
    messages = pre.new_empty(len(source), K, len(pre) * (pre.shape[2] // 3))
    _launch(aggregate_back, BACK, pre, r, M, K, (pre, r, source, start, g, d_pre, messages))
    return messages


def _launch(
    kernel: triton.JITFunction,
    shape: tuple[int, int, int, int],
    pre: Tensor,
    r: Tensor | None,
    M: int,
    K: int,
    pointers: tuple[Tensor | None, ...],
) -> None:
    (T, rows, three), (Q, C, U, warps) = pre.shape, shape
    Q, C = min(Q, triton.next_power_of_2(K * T)), min(C, triton.next_power_of_2(three // 3))
    grid = (M // K, triton.cdiv(K * T, Q) * triton.cdiv(three // 3, C))
    constants = {"EDGES": r is not None, "K": K, "T": T, "F": three // 3, "Q": Q, "C": C, "U": U}
    with torch.cuda.device_of(pre):
        kernel[grid](*pointers, rows, FLOOR, **constants, num_warps=warps)


def sum_messages(messages: Tensor, d_pre: Tensor, order: Tensor, start: Tensor) -> None:
    """Sum the gradients of the messages to the gradient of p, which is written into d_pre.

    Args:
        messages: Gradients of the messages, shape [E, K, T F].
        d_pre: Gradient of pre, shape [T, M', 3 F]. Its first F columns are written.
        order: Edge numbers sorted by source, shape [E].
        start: First edge of each source node in this order, shape [N + 1].
    """
    _, K, TF = messages.shape
    T, rows, _ = d_pre.shape
    C = min(256, triton.next_power_of_2(K * TF))
    with torch.cuda.device_of(messages):
        sum_of_node[(len(start) - 1, triton.cdiv(K * TF, C))](
            messages, order, start, d_pre, rows, K=K, T=T, F=TF // T, C=C, num_warps=2
        )


def sum_particles(messages: Tensor) -> Tensor:
    """Sum over the particles, from [E, K, T F] to [E, T F]."""
    E, K, TF = messages.shape
    if K == 1:
        return messages[:, 0]
    out = messages.new_empty(E, TF)
    C = min(1024, triton.next_power_of_2(TF))
    with torch.cuda.device_of(messages):
        sum_of_edge[(E, triton.cdiv(TF, C))](messages, out, K=K, TF=TF, C=C, num_warps=2)
    return out
