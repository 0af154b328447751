"""Triton kernel for :func:`pfgnn.ops.candidates.choose`. Each program chooses the candidates of one graph.

Instead of sorting, it compares all pairs of candidates. All sums are sums of integers, so the order does not matter.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops import candidates
from pfgnn.ops.segments import Segments
from pfgnn.ops.triton.hashing import fold_word, unit
from pfgnn.ops.weights import NoiseKey

UNIT = tl.constexpr(candidates.UNIT)
TICK = tl.constexpr(candidates.TICK)
ROUNDING = tl.constexpr(candidates.ROUNDING)
LEAST = tl.constexpr(candidates.LEAST)
MIDDLE = tl.constexpr(1.5 * 2**52)  # x + MIDDLE - MIDDLE is x, rounded as torch.round does
MEAN_SIZE = 256  # up to this mean number of candidates, comparing all pairs is faster than sorting
KEPT = tl.constexpr(-1)  # stands for the probability of a candidate that is kept


@triton.jit
def rounded(x):
    return (x + MIDDLE - MIDDLE).to(tl.int64)


@triton.jit
def before(place, i, j, there):
    """Whether candidate j comes before candidate i in the order of the places, for all pairs [B, B]."""
    own, other = tl.load(place + i, i < there, 0)[:, None], tl.load(place + j, j < there, 0)[None, :]
    return ((other < own) | ((other == own) & (j[None, :] < i[:, None]))) & (j < there)[None, :]


@triton.jit
def choose_paths(
    q, place, keys, start, ticks, drawn, chosen, live, weight, P, K, step, purpose, B: tl.constexpr,
):  # fmt: skip
    """Choose K candidates. ``ticks`` and ``drawn`` are memory for the numbers of all candidates."""
    graph = tl.program_id(0)
    begin, end = tl.load(start + graph) * P, tl.load(start + graph + 1) * P
    total = tl.zeros([], tl.int64)
    for first in range(begin, end, B):
        i = first + tl.arange(0, B)
        total += tl.sum(rounded(tl.load(q + i, i < end, 0.0) * UNIT), 0)

    # Which candidates are kept: those whose weight is at least the threshold of those not larger.
    kept_total, kept_number = tl.zeros([], tl.int64), tl.zeros([], tl.int64)
    for first in range(begin, end, B):
        i = first + tl.arange(0, B)
        own = rounded(tl.load(q + i, i < end, 0.0) * UNIT)
        rank, larger = tl.zeros([B], tl.int64), tl.zeros([B], tl.int64)
        for second in range(begin, end, B):
            j = second + tl.arange(0, B)
            other = rounded(tl.load(q + j, j < end, 0.0) * UNIT)[None, :]
            ahead = (other > own[:, None]) | ((other == own[:, None]) & (j[None, :] < i[:, None]))
            ahead = ahead & (j < end)[None, :]
            rank += tl.sum(ahead.to(tl.int64), 1)
            larger += tl.sum(tl.where(ahead, other, 0), 1)
        rest = (total - larger).to(tl.float64)
        keep = (own > 0) & (rank < K) & (own.to(tl.float64) * (K - rank).to(tl.float64) >= rest - rest * ROUNDING)
        tl.store(ticks + i, tl.where(keep, KEPT, 0), i < end)
        kept_total += tl.sum(tl.where(keep, own, 0), 0)
        kept_number += tl.sum(keep.to(tl.int64), 0)
    c = (total - kept_total).to(tl.float64) / tl.maximum(K - kept_number, 1).to(tl.float64) / UNIT
    tl.debug_barrier()

    # The probabilities of the others.
    for first in range(begin, end, B):
        i = first + tl.arange(0, B)
        keep = tl.load(ticks + i, i < end, 0) == KEPT
        share = tl.where(c > 0, tl.load(q + i, (i < end) & ~keep, 0.0) / tl.maximum(c, 1 / UNIT), 0.0)
        tl.store(ticks + i, tl.where(keep, KEPT, rounded(share * TICK)), i < end)
    tl.debug_barrier()

    # Those are drawn at which the running sum passes an integer.
    u = unit(fold_word(fold_word(tl.load(keys + graph), step), purpose))
    offset = (u * TICK).to(tl.int64)
    for first in range(begin, end, B):
        i = first + tl.arange(0, B)
        sum_before, number_before = tl.zeros([B], tl.int64) + offset, tl.zeros([B], tl.int64)
        for second in range(begin, end, B):
            j = second + tl.arange(0, B)
            ahead = before(place, i, j, end)
            sum_before += tl.sum(tl.where(ahead, tl.maximum(tl.load(ticks + j, j < end, 0), 0)[None, :], 0), 1)
            number_before += tl.sum(ahead.to(tl.int64), 1)
        own = tl.load(ticks + i, i < end, 0)
        passed = (sum_before + tl.maximum(own, 0)) // TICK > sum_before // TICK
        tl.store(drawn + i, (passed | (own == KEPT)).to(tl.int64), i < end)
        # The first candidate, in case that rounding left none drawn.
        tl.store(chosen + graph * K + i * 0, i, (number_before == 0) & (i < end))
    tl.debug_barrier()

    number = tl.zeros([], tl.int64)
    for first in range(begin, end, B):
        i = first + tl.arange(0, B)
        own, rank = tl.load(drawn + i, i < end, 0), tl.zeros([B], tl.int64)
        for second in range(begin, end, B):
            j = second + tl.arange(0, B)
            rank += tl.sum(tl.where(before(place, i, j, end), tl.load(drawn + j, j < end, 0)[None, :], 0), 1)
        tl.store(chosen + graph * K + rank, i, (own != 0) & (rank < K))
        number += tl.sum(own, 0)
    tl.debug_barrier()

    number = tl.minimum(tl.maximum(number, 1), K)
    for first in range(0, K, B):
        k = first + tl.arange(0, B)
        i = tl.load(chosen + graph * K + k % number, k < K, 0)
        keep = tl.load(ticks + i, k < K, 0) == KEPT
        w = tl.where(keep, tl.load(q + i, k < K, 0.0), c)
        tl.store(chosen + graph * K + k, i, (k >= number) & (k < K))
        tl.store(live + graph * K + k, k < number, k < K)
        tl.store(weight + graph * K + k, tl.maximum(w, LEAST), k < K)


def fits(q: Tensor, nodes: Segments) -> bool:
    """Whether the graphs have few candidates."""
    return nodes.start is not None and len(q) <= MEAN_SIZE * nodes.size


def choose(q: Tensor, place: Tensor, noise_key: NoiseKey, nodes: Segments, K: int) -> tuple[Tensor, Tensor, Tensor]:
    """See :func:`pfgnn.ops.candidates.choose`."""
    G, M = nodes.size, len(q)
    ticks, drawn = torch.empty(2, M, dtype=torch.int64, device=q.device)
    chosen = torch.empty(G, K, dtype=torch.int64, device=q.device)
    live, weight = torch.empty_like(chosen, dtype=torch.bool), torch.empty_like(chosen, dtype=torch.float64)
    B = max(16, min(64, triton.next_power_of_2(-(-M // G))))
    with torch.cuda.device_of(q):
        choose_paths[(G,)](
            q.contiguous(), place.contiguous(), noise_key.key.contiguous(), nodes.start, ticks, drawn, chosen, live,
            weight, M // len(nodes.index), K, noise_key.step, noise_key.purpose, B=B, num_warps=max(1, B * B // 512),
        )  # fmt: skip
    return chosen, live, weight
