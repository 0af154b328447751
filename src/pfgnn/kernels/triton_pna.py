"""Triton kernels for :mod:`pfgnn.kernels.pna`.

To aggregate, one program has one node's edges and a tile of the columns: some pairs of particle and tower by some
features. On the way back the messages are read again rather than kept: they lie in the cache.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.kernels.pna import FLOOR

ALIGN = 8  # rows begin at multiples of so many numbers
FORWARD, BACK = (8, 64, 4, 4), (8, 32, 2, 2)  # of a program: rows and columns of its tile, edges at once, warps


@triton.jit
def pad_rows(
    x, bias, out, count, first, R, RP,
    ONES: tl.constexpr, BIAS: tl.constexpr, C: tl.constexpr, CP: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    block, r, c = place // (RP * CP), place // CP % RP, place % CP
    inside = (place < count) & (r < R)
    v = tl.load(x + (block * R + r) * C + c, inside & (c < C), 0.0).to(tl.float32)
    if BIAS:
        v += tl.load(bias + (block - first) * R + r, inside & (c == C) & (block >= first), 0.0).to(tl.float32)
    if ONES:
        v = tl.where(c == C, 1.0, v)
    tl.store(out + place, v, place < count)


@triton.jit
def _tile(start, K: tl.constexpr, T: tl.constexpr, D: tl.constexpr, W: tl.constexpr, Q: tl.constexpr, C: tl.constexpr):
    """The node, its edges, and the tile: places in a node's part of pre, in an edge's of r and in one of messages."""
    node = tl.program_id(0).to(tl.int64)
    blocks: tl.constexpr = (D + C - 1) // C
    row = (tl.program_id(1) // blocks * Q + tl.arange(0, Q))[:, None]
    d = (tl.program_id(1) % blocks * C + tl.arange(0, C))[None, :]
    inside = (row < K * T) & (d < D)
    of_edge = row % T * D + d
    return node, tl.load(start + node), tl.load(start + node + 1), row, d, inside, row // T * W + of_edge, of_edge


@triton.jit
def _message(pre, r, source, edge, there, columns, of_node, of_edge, mask, EDGES: tl.constexpr, TD: tl.constexpr):
    j = tl.load(source + edge, there, 0)
    v = tl.load(pre + j * columns + of_node, mask, 0.0).to(tl.float32)
    if EDGES:
        v += tl.load(r + edge * TD + of_edge, mask, 0.0).to(tl.float32)
    return v


@triton.jit
def _moments(
    pre, r, source, begin, end, columns, of_node, of_edge, inside,
    COUNT: tl.constexpr, EDGES: tl.constexpr, TD: tl.constexpr, Q: tl.constexpr, C: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    """Mean, smallest, largest, variance, how many are smallest and largest (if COUNT), how many there are or 1.

    The variance is summed around the first message, so that it is exactly 0 where all are equal. U edges at a time,
    whose loads do not wait for one another.
    """
    zero = tl.zeros([Q, C], tl.float32)
    total, squares, lows, highs = zero, zero, zero, zero
    low, high = zero + float("inf"), zero - float("inf")
    some = begin < end
    first = _message(pre, r, source, begin, some, columns, of_node, of_edge, inside & some, EDGES, TD)
    for start in range(begin, end, U):
        for u in tl.static_range(U):
            edge = start + u
            there = edge < end
            v = _message(pre, r, source, edge, there, columns, of_node, of_edge, inside & there, EDGES, TD)
            c = tl.where(there, v - first, 0.0)
            total += c
            squares += c * c
            if COUNT:
                lows = tl.where(there & (v <= low), tl.where(v < low, 1.0, lows + 1.0), lows)
                highs = tl.where(there & (v >= high), tl.where(v > high, 1.0, highs + 1.0), highs)
            low, high = tl.where(there, tl.minimum(low, v), low), tl.where(there, tl.maximum(high, v), high)
    n = tl.maximum(end - begin, 1).to(tl.float32)
    shift = total / n
    return first + shift, low, high, squares / n - shift * shift, lows, highs, n


@triton.jit
def aggregate_forward(
    pre, r, source, start, out, M, floor,
    EDGES: tl.constexpr, K: tl.constexpr, T: tl.constexpr, D: tl.constexpr, W: tl.constexpr,
    Q: tl.constexpr, C: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    node, begin, end, row, d, inside, of_node, of_edge = _tile(start, K, T, D, W, Q, C)
    mean, low, high, variance, _, _, _ = _moments(
        pre, r, source, begin, end, K * W, of_node, of_edge, inside, False, EDGES, T * D, Q, C, U
    )
    q = tl.load(pre + node * (K * W) + T * D + of_node, inside, 0.0).to(tl.float32)
    some = end > begin
    place = out + (row % T * M + node * K + row // T) * (4 * D) + d
    tl.store(place, tl.where(some, mean + q, 0.0), inside)
    tl.store(place + D, tl.where(some, low + q, 0.0), inside)
    tl.store(place + 2 * D, tl.where(some, high + q, 0.0), inside)
    tl.store(place + 3 * D, tl.where(variance > floor, tl.sqrt_rn(tl.maximum(variance, floor)), 0.0), inside)


@triton.jit
def aggregate_back(
    pre, r, source, start, g, d_pre, messages, M, floor,
    EDGES: tl.constexpr, K: tl.constexpr, T: tl.constexpr, D: tl.constexpr, W: tl.constexpr,
    Q: tl.constexpr, C: tl.constexpr, U: tl.constexpr,
):  # fmt: skip
    node, begin, end, row, d, inside, of_node, of_edge = _tile(start, K, T, D, W, Q, C)
    place = g + (row % T * M + node * K + row // T) * (4 * D) + d
    of_mean, of_low = tl.load(place, inside, 0.0).to(tl.float32), tl.load(place + D, inside, 0.0).to(tl.float32)
    of_high = tl.load(place + 2 * D, inside, 0.0).to(tl.float32)
    of_std = tl.load(place + 3 * D, inside, 0.0).to(tl.float32)
    of_q = tl.where(end > begin, of_mean + of_low + of_high, 0.0)
    tl.store(d_pre + node * (K * W) + T * D + of_node, of_q, inside)
    mean, low, high, variance, lows, highs, n = _moments(
        pre, r, source, begin, end, K * W, of_node, of_edge, inside, True, EDGES, T * D, Q, C, U
    )
    of_mean /= n
    of_low /= tl.maximum(lows, 1.0)
    of_high /= tl.maximum(highs, 1.0)
    of_std = tl.where(variance > floor, of_std / (n * tl.sqrt_rn(tl.maximum(variance, floor))), 0.0)
    for edge in range(begin, end):
        v = _message(pre, r, source, edge, True, K * W, of_node, of_edge, inside, EDGES, T * D)
        dv = of_mean + of_std * (v - mean) + tl.where(v == low, of_low, 0.0) + tl.where(v == high, of_high, 0.0)
        tl.store(messages + edge * (K * T * D) + row * D + d, dv, inside)


@triton.jit
def sum_of_node(messages, order, start, d_pre, K: tl.constexpr, TD: tl.constexpr, W: tl.constexpr, C: tl.constexpr):
    """A node's edges' gradients, summed into its part of d_pre, one particle at a time."""
    node = tl.program_id(0).to(tl.int64)
    blocks: tl.constexpr = (TD + C - 1) // C
    k, column = tl.program_id(1) // blocks, tl.program_id(1) % blocks * C + tl.arange(0, C)
    inside = column < TD
    total = tl.zeros([C], tl.float32)
    for place in range(tl.load(start + node), tl.load(start + node + 1)):
        edge = tl.load(order + place)
        total += tl.load(messages + (edge * K + k) * TD + column, inside, 0.0).to(tl.float32)
    tl.store(d_pre + (node * K + k) * W + column, total, inside)


@triton.jit
def sum_of_edge(messages, out, K: tl.constexpr, TD: tl.constexpr, C: tl.constexpr):
    """An edge's gradients, summed over the particles."""
    edge, column = tl.program_id(0).to(tl.int64), tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros([C], tl.float32)
    for k in range(K):
        total += tl.load(messages + (edge * K + k) * TD + column, column < TD, 0.0).to(tl.float32)
    tl.store(out + edge * TD + column, total, column < TD)


@triton.jit
def _scaler(start, node, mask, delta):
    degree = tl.load(start + node + 1, mask, 1) - tl.load(start + node, mask, 0)
    return tl.log(tl.maximum(degree, 1).to(tl.float32) + 1.0) / delta


@triton.jit
def scale_forward(
    y, pre, start, z, count, M, delta,
    K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FP: tl.constexpr, OWN: tl.constexpr, W: tl.constexpr,
    ZP: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    m, c = place // ZP, place % ZP
    inside = (place < count) & (c < T * F)
    s = _scaler(start, m // K, place < count, delta)
    there = y + (c // F * M + m) * (3 * FP) + c % F
    one, two = tl.load(there, inside, 0.0).to(tl.float32), tl.load(there + FP, inside, 0.0).to(tl.float32)
    three = tl.load(there + 2 * FP, inside, 0.0).to(tl.float32)
    own = tl.load(pre + m * W + OWN + c, inside, 0.0).to(tl.float32)
    tl.store(z + place, tl.where(c == T * F, 1.0, one + s * two + three / s + own), place < count)


@triton.jit
def scale_back(
    dz, start, dy, d_pre, count, M, delta,
    K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FP: tl.constexpr, OWN: tl.constexpr, W: tl.constexpr,
    ZP: tl.constexpr, DP: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    m, c = place // DP, place % DP
    inside = (place < count) & (c < T * F)
    s = _scaler(start, m // K, place < count, delta)
    g = tl.load(dz + m * ZP + c, inside, 0.0).to(tl.float32)
    tl.store(d_pre + m * W + OWN + c, g, place < count)
    there = dy + (c // F * M + m) * (3 * FP) + c % F
    tl.store(there, g, inside)
    tl.store(there + FP, g * s, inside)
    tl.store(there + 2 * FP, g / s, inside)
    for f in tl.static_range(1, FP - F + 1):  # the padding, by the thread before it
        zero, last = tl.zeros([B], tl.float32), inside & (c % F == F - 1)
        tl.store(there + f, zero, last)
        tl.store(there + FP + f, zero, last)
        tl.store(there + 2 * FP + f, zero, last)


def padded(size: int) -> int:
    """The size, up to the next multiple of ALIGN."""
    return -(-size // ALIGN) * ALIGN


def pad(
    x: Tensor, rows: int, columns: int, dtype: torch.dtype, bias: Tensor | None = None, ones: bool = False
) -> Tensor:
    """Blocks x [B, R, C] with zeros up to [B, rows, columns].

    With ``bias``, [B', R] of the last B' blocks, it is the column after x; with ``ones``, that column is 1.
    """
    blocks, R, C = x.shape
    out = x.new_empty(blocks, rows, columns, dtype=dtype)
    first = 0 if bias is None else blocks - bias.numel() // R
    constants = {"ONES": ones, "BIAS": bias is not None, "C": C, "CP": columns, "B": 512}
    with torch.cuda.device_of(x):
        pad_rows[(triton.cdiv(out.numel(), 512),)](x.contiguous(), bias, out, out.numel(), first, R, rows, **constants)
    return out


def aggregate(pre: Tensor, r: Tensor | None, K: int, T: int, source: Tensor, start: Tensor) -> Tensor:
    """The four aggregates: pre [N K, (2 T + 1) D], r [E, T D], source [E], start [N + 1] -> [T, N K, 4 D]."""
    out = pre.new_empty(T, len(pre), 4 * (pre.shape[1] // (2 * T + 1)))
    _launch(aggregate_forward, FORWARD, pre, r, K, T, (pre, r, source, start, out))
    return out


def message_gradients(
    g: Tensor, pre: Tensor, r: Tensor | None, d_pre: Tensor, K: int, T: int, source: Tensor, start: Tensor
) -> Tensor:
    """The gradient of every message [E, K, T D] from that of the aggregates, g; that of q goes into d_pre."""
    messages = pre.new_empty(len(source), K, T * (pre.shape[1] // (2 * T + 1)))
    _launch(aggregate_back, BACK, pre, r, K, T, (pre, r, source, start, g, d_pre, messages))
    return messages


def _launch(
    kernel: triton.JITFunction,
    shape: tuple[int, int, int, int],
    pre: Tensor,
    r: Tensor | None,
    K: int,
    T: int,
    pointers: tuple[Tensor | None, ...],
) -> None:
    (M, W), (Q, C, U, warps) = pre.shape, shape
    D = W // (2 * T + 1)
    Q, C = min(Q, triton.next_power_of_2(K * T)), min(C, triton.next_power_of_2(D))
    grid = (M // K, triton.cdiv(K * T, Q) * triton.cdiv(D, C))
    constants = {"EDGES": r is not None, "K": K, "T": T, "D": D, "W": W, "Q": Q, "C": C, "U": U}
    with torch.cuda.device_of(pre):
        kernel[grid](*pointers, M, FLOOR, **constants, num_warps=warps)


def sum_messages(messages: Tensor, d_pre: Tensor, order: Tensor, start: Tensor) -> None:
    """The gradient of p, in d_pre's first columns: messages [E, K, T D], the edges of each node in order."""
    _, K, TD = messages.shape
    C = min(512, triton.next_power_of_2(TD))
    with torch.cuda.device_of(messages):
        sum_of_node[(len(d_pre) // K, K * triton.cdiv(TD, C))](
            messages, order, start, d_pre, K=K, TD=TD, W=d_pre.shape[1], C=C, num_warps=1
        )


def sum_particles(messages: Tensor) -> Tensor:
    """Sums over the particles: [E, K, T D] -> [E, T D]."""
    E, K, TD = messages.shape
    if K == 1:
        return messages[:, 0]
    out = messages.new_empty(E, TD)
    C = min(1024, triton.next_power_of_2(TD))
    with torch.cuda.device_of(messages):
        sum_of_edge[(E, triton.cdiv(TD, C))](messages, out, K=K, TD=TD, C=C)
    return out


def scale(y: Tensor, pre: Tensor, K: int, D: int, delta: float, start: Tensor) -> Tensor:
    """y_1 + s y_2 + y_3 / s + own, then a column of ones: y [T, M, 3 F'], pre [M, (2 T + 1) D'] -> [M, D°]."""
    T, M, _ = y.shape
    z = y.new_empty(M, padded(D + 1))
    with torch.cuda.device_of(y):
        scale_forward[(triton.cdiv(z.numel(), 256),)](
            y, pre, start, z, z.numel(), M, delta, **_columns(T, K, D, pre.shape[1]), ZP=z.shape[1], B=256
        )
    return z


def scale_gradients(dz: Tensor, d_pre: Tensor, T: int, K: int, D: int, delta: float, start: Tensor) -> Tensor:
    """The gradient of y [T, M, 3 F'] from that of z [M, D°]; that of the own part goes into d_pre."""
    M, constants = len(dz), _columns(T, K, D, d_pre.shape[1])
    dy = dz.new_empty(T, M, 3 * constants["FP"])
    count = M * padded(D)
    with torch.cuda.device_of(dz):
        scale_back[(triton.cdiv(count, 256),)](
            dz, start, dy, d_pre, count, M, delta, **constants, ZP=dz.shape[1], DP=padded(D), B=256
        )
    return dy


def _columns(T: int, K: int, D: int, W: int) -> dict[str, int]:
    return {"K": K, "T": T, "F": D // T, "FP": padded(D // T), "OWN": 2 * T * padded(D), "W": W}
