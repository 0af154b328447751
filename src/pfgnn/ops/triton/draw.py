"""Triton kernels for :mod:`pfgnn.ops.draw`. Each program draws for one graph and one particle."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.hashing import fold_word, unit


@triton.jit
def draw_forward(
    scores, keys, particles, node_key, start, vertex, log_prob, log_total, K, step, purpose, number,
    OWN: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """Draw a vertex. OWN: whether each particle has its own scores."""
    graph, k = tl.program_id(0), tl.program_id(1)
    begin, end = tl.load(start + graph), tl.load(start + graph + 1)
    width = K if OWN else 1
    mine = k if OWN else 0
    top = tl.full([], -float("inf"), tl.float32)
    for first in range(begin, end, R):
        row = first + tl.arange(0, R)
        s = tl.load(scores + row * width + mine, row < end, -float("inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(s, 0))
    total = tl.zeros([], tl.float32)
    for first in range(begin, end, R):
        row = first + tl.arange(0, R)
        s = tl.load(scores + row * width + mine, row < end, -float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(s - top), 0)
    shift = top + tl.log(total)
    key = fold_word(fold_word(tl.load(keys + graph), step), purpose)
    key = fold_word(fold_word(key, tl.load(particles + k)), number)
    best = tl.full([], -float("inf"), tl.float64)
    v = begin  # stays so if the scores are not finite: NaN is not larger than -inf
    for first in range(begin, end, R):
        row = first + tl.arange(0, R)
        inside = row < end
        log_p = tl.load(scores + row * width + mine, inside, -float("inf")).to(tl.float32) - shift
        u = unit(fold_word(key, tl.load(node_key + row, inside, 0)))
        value = tl.where(inside, log_p.to(tl.float64) - tl.log(-tl.log(u)), -float("inf"))
        highest = tl.max(value, 0)
        if highest > best:
            best = highest
            v = tl.min(tl.where(value == highest, row, end), 0)
    best_log_p = tl.load(scores + v * width + mine).to(tl.float32) - shift
    own = graph * K + k
    tl.store(vertex + own, v)
    tl.store(log_prob + own, best_log_p)
    tl.store(log_total + own, shift)


@triton.jit
def draw_back(g, scores, vertex, log_total, graph, out, count, K, OWN: tl.constexpr, B: tl.constexpr):
    """d s_n = Σ_k g_k (1[n = v_k] - P_k(n)). With OWN there is no sum: each particle k has its own s_n."""
    place = tl.program_id(0) * B + tl.arange(0, B)
    inside = place < count
    node = place // K if OWN else place
    own = tl.load(graph + node, inside, 0) * K
    s = tl.load(scores + place, inside, 0.0).to(tl.float32)
    d = tl.zeros([B], tl.float32)
    particles = 1 if OWN else K
    for i in range(particles):
        cell = own + (place % K if OWN else i)
        chosen = tl.where(tl.load(vertex + cell, inside, -1) == node, 1.0, 0.0)
        d += tl.load(g + cell, inside, 0.0) * (chosen - tl.exp(s - tl.load(log_total + cell, inside, 0.0)))
    tl.store(out + place, d, inside)


def draw(
    scores: Tensor,
    particles: Tensor,
    number: int,
    node_key: Tensor,
    start: Tensor,
    key: Tensor,
    step: int,
    purpose: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw a vertex for each graph and particle; see :func:`pfgnn.ops.draw.draw_vertex`.

    Args:
        scores: Scores of the nodes, shape [N, K] or [N, 1].
        particles: Numbers of the particles, shape [K].
        number: Number of this draw.
        node_key: Key of each node, shape [N].
        start: First node of each graph, shape [G + 1].
        key: Key of each graph, shape [G].
        step: t.
        purpose: Number of the purpose.

    Returns:
        The vertices, shape [G, K].
        Their log P, shape [G, K].
        log Σ_n exp s_n of each graph and particle, shape [G, K].
    """
    G, K = len(key), len(particles)
    vertex = torch.empty(G, K, dtype=torch.int64, device=key.device)
    log_prob = torch.empty(G, K, device=key.device)
    log_total = torch.empty_like(log_prob)
    R = max(16, min(128, triton.next_power_of_2(-(-len(scores) // G))))
    with torch.cuda.device_of(scores):
        draw_forward[(G, K)](
            scores, key, particles, node_key, start, vertex, log_prob, log_total, K, step, purpose, number,
            OWN=scores.shape[1] > 1, R=R, num_warps=1,
        )  # fmt: skip
    return vertex, log_prob, log_total


def draw_backward(g: Tensor, scores: Tensor, vertex: Tensor, log_total: Tensor, graph: Tensor) -> Tensor:
    """The gradient of the scores, from the gradient g [G, K] of the log probabilities."""
    out = torch.empty_like(scores)
    B = 256
    with torch.cuda.device_of(scores):
        draw_back[(triton.cdiv(out.numel(), B),)](
            g, scores, vertex, log_total, graph, out, out.numel(), vertex.shape[1], OWN=scores.shape[1] > 1, B=B
        )
    return out
