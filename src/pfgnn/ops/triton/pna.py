"""Triton kernels for :mod:`pfgnn.ops.pna`.

To aggregate, one program has one node's edges and a tile of the columns: some pairs of particle and tower by some
features. On the way back the messages are read again rather than kept: they lie in the cache.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.pna import FLOOR
from pfgnn.ops.triton.rows import padded, rows_grid, some_rows

FORWARD, BACK = (8, 32, 2, 2), (8, 32, 1, 2)  # of a program: rows and features of its tile, edges at once, warps


@triton.jit
def _tile(start, MP, K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, Q: tl.constexpr, C: tl.constexpr):
    """The node, its edges, and the tile of rows (particle and tower) and features.

    Of each row its tower's place and its particle's in pre, in units of rows, and its place in an edge's r.
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
    """Mean, smallest, largest, variance, how many are smallest and largest (if COUNT), how many there are or 1.

    The variance is summed around the first message, so that it is exactly 0 where all are equal. U edges at a time,
    whose loads do not wait for one another.
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
            low, high = tl.where(there, tl.minimum(low, v), low), tl.where(there, tl.maximum(high, v), high)
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
    """A node's edges' gradients of all particles and towers, summed into its part of d_pre."""
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
    """An edge's gradients, summed over the particles."""
    edge, column = tl.program_id(0).to(tl.int64), tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros([C], tl.float32)
    for k in range(K):
        total += tl.load(messages + (edge * K + k) * TF + column, column < TF, 0.0).to(tl.float32)
    tl.store(out + edge * TF + column, total, column < TF)


@triton.jit
def _scaler(start, node, mask, delta):
    degree = tl.load(start + node + 1, mask, 1) - tl.load(start + node, mask, 0)
    return tl.log(tl.maximum(degree, 1).to(tl.float32) + 1.0) / delta


@triton.jit
def scale_forward(
    y, pre, start, z, M, MP, delta,
    K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FP: tl.constexpr, ZP: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    m, c, real = some_rows(ZP, R, C)
    inside = (m < M) & (c < T * F)
    s = _scaler(start, m // K, m < M, delta)
    there = (c // F * MP + m) * (3 * FP) + c % F
    one, two = tl.load(y + there, inside, 0.0).to(tl.float32), tl.load(y + there + FP, inside, 0.0).to(tl.float32)
    three = tl.load(y + there + 2 * FP, inside, 0.0).to(tl.float32)
    own = tl.load(pre + there + 2 * FP, inside, 0.0).to(tl.float32)
    tl.store(z + m * ZP + c, tl.where(c == T * F, 1.0, one + s * two + three / s + own), (m < M) & real)


@triton.jit
def scale_back(
    dz, start, dy, d_pre, M, MP, delta,
    K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FP: tl.constexpr, ZP: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    m, c, real = some_rows(T * FP, R, C)
    t, f, mask = c // FP, c % FP, (m < MP) & real
    s = _scaler(start, m // K, m < M, delta)
    g = tl.load(dz + m * ZP + t * F + f, mask & (m < M) & (f < F), 0.0).to(tl.float32)
    there = (t * MP + m) * (3 * FP) + f
    tl.store(dy + there, g, mask)
    tl.store(dy + there + FP, g * s, mask)
    tl.store(dy + there + 2 * FP, g / s, mask)
    tl.store(d_pre + there + 2 * FP, g, mask)
    past = mask & (m >= M)  # the rest of the padding, which nobody else writes
    tl.store(d_pre + there, tl.zeros([R, C], tl.float32), past)
    tl.store(d_pre + there + FP, tl.zeros([R, C], tl.float32), past)


def aggregate(pre: Tensor, r: Tensor | None, M: int, K: int, source: Tensor, start: Tensor) -> Tensor:
    """The four aggregates: pre [T, M', 3 F], r [E, T F], source [E], start [N + 1] -> [T, M', 4 F]."""
    T, rows, three = pre.shape
    out = pre.new_empty(T, rows, 4 * (three // 3))
    out[:, M:] = 0
    _launch(aggregate_forward, FORWARD, pre, r, M, K, (pre, r, source, start, out))
    return out


def message_gradients(
    g: Tensor, pre: Tensor, r: Tensor | None, d_pre: Tensor, M: int, K: int, source: Tensor, start: Tensor
) -> Tensor:
    """The gradient of every message [E, K, T F] from that of the aggregates, g; that of q goes into d_pre."""
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
    """The gradient of p, in d_pre's first columns: messages [E, K, T F], the edges of each node in order."""
    _, K, TF = messages.shape
    T, rows, _ = d_pre.shape
    C = min(256, triton.next_power_of_2(K * TF))
    with torch.cuda.device_of(messages):
        sum_of_node[(len(start) - 1, triton.cdiv(K * TF, C))](
            messages, order, start, d_pre, rows, K=K, T=T, F=TF // T, C=C, num_warps=2
        )


def sum_particles(messages: Tensor) -> Tensor:
    """Sums over the particles: [E, K, T F] -> [E, T F]."""
    E, K, TF = messages.shape
    if K == 1:
        return messages[:, 0]
    out = messages.new_empty(E, TF)
    C = min(1024, triton.next_power_of_2(TF))
    with torch.cuda.device_of(messages):
        sum_of_edge[(E, triton.cdiv(TF, C))](messages, out, K=K, TF=TF, C=C, num_warps=2)
    return out


def scale(y: Tensor, pre: Tensor, M: int, K: int, D: int, delta: float, start: Tensor) -> Tensor:
    """y_1 + s y_2 + y_3 / s + own, then a column of ones: y [T, M', 3 F'], pre [T, M', 3 F'] -> [M, D°]."""
    T, rows, three = y.shape
    z = y.new_empty(M, padded(D + 1))
    constants = {"K": K, "T": T, "F": D // T, "FP": three // 3, "ZP": z.shape[1]}
    grid, tile = rows_grid(M, z.shape[1])
    with torch.cuda.device_of(y):
        scale_forward[grid](y, pre, start, z, M, rows, delta, **constants, **tile)
    return z


def scale_gradients(dz: Tensor, d_pre: Tensor, K: int, D: int, delta: float, start: Tensor) -> Tensor:
    """The gradient of y [T, M', 3 F'] from that of z [M, D°]; that of the own part goes into d_pre."""
    T, rows, three = d_pre.shape
    dy = torch.empty_like(d_pre)
    constants = {"K": K, "T": T, "F": D // T, "FP": three // 3, "ZP": dz.shape[1]}
    grid, tile = rows_grid(rows, T * (three // 3))
    with torch.cuda.device_of(dz):
        scale_back[grid](dz, start, dy, d_pre, len(dz), rows, delta, **constants, **tile)
    return dy
