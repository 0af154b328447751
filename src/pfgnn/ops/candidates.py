"""Choosing K of the candidates of each graph.

Weights and probabilities are rounded to integers, so that their sums are the same in any batch and on any device.
"""

import torch
from torch import Tensor

from pfgnn.ops.dispatch import fast, opaque
from pfgnn.ops.hashing import fold, uniform
from pfgnn.ops.segments import Segments, make_segments
from pfgnn.ops.weights import NoiseKey

UNIT = 2**40  # a weight is an integer multiple of 1 / UNIT; sums over up to 2^22 graphs then fit 64 bits
TICK = 2**36  # a probability is an integer multiple of 1 / TICK; the probabilities of a graph sum to at most K
# These are powers of 2, because a kernel rounds constants to float32.
ROUNDING = 2.0**-30  # relative tolerance when a weight is compared with the threshold
LEAST = 2.0**-100  # smallest weight of a chosen candidate, so that it has a logarithm


def smooth_noise(
    noise_key: NoiseKey, node_key: Tensor, rounds: int, sources: Segments, targets: Segments, nodes: Segments
) -> Tensor:
    """Give each node a random number, and average it with the mean of its neighbours several times.

    It is computed with integers, so that rounding errors cannot change an order.

    Args:
        noise_key: Key of the random numbers.
        node_key: Key of each node's own random number, int64, shape [N].
        rounds: How often to average.
        sources: The edges that leave each node.
        targets: The edges that reach each node. Edges are sorted by their targets.
        nodes: The nodes of each graph.

    Returns:
        The averages, from 0 to UNIT - 1, int64, shape [N].
    """
    if opaque():
        return _smooth_noise(*noise_key, node_key, rounds, sources.index, targets.index, nodes.index, nodes.size)
    if fast(node_key):
        from pfgnn.ops.triton import rounds as kernels

        if kernels.fits(nodes, targets):
            return kernels.smooth_noise(noise_key, node_key, rounds, sources, targets, nodes)
    keys = noise_key.keys_of(torch.zeros_like(node_key[:1])).squeeze(1)[nodes.index]
    signal = (uniform(fold(keys, node_key)) * UNIT).long()
    degree = targets.counts
    joined, twice = degree > 0, (2 * degree).clamp(min=1)
    for _ in range(rounds):
        both = (degree * signal).index_add(0, targets.index, signal.index_select(0, sources.index))
        signal = torch.where(joined, both // twice, signal)
    return signal


def choose(q: Tensor, place: Tensor, noise_key: NoiseKey, nodes: Segments, K: int) -> tuple[Tensor, Tensor, Tensor]:
    """Choose K of the candidates of each graph without replacement: keep the large ones, and draw from the others.

    Args:
        q: Weight of each candidate, float64, shape [M]. Each node has the same number of candidates, one after the
            other.
        place: Place of each candidate in the order of the systematic sampling, int64 from 0 to UNIT - 1, shape [M].
        noise_key: Key of the one random number of each graph.
        nodes: The nodes of each graph. No graph is empty.
        K: Number of particles.

    Returns:
        Numbers of the candidates that are kept or drawn, shape [G, K]. If there are fewer than K, some are repeated.
        False for the repeated ones, shape [G, K].
        The new weights: q of a candidate that is kept, and the threshold of the graph for a drawn one, shape [G, K].
    """
    if opaque():
        return _choose(q, place, *noise_key, nodes.index, nodes.size, K)
    if fast(place):  # which are integers, as all that is compared
        from pfgnn.ops.triton import choose as kernel

        if kernel.fits(q, nodes):
            return kernel.choose(q, place, noise_key, nodes, K)
    owner = nodes.index.repeat_interleave(q.shape[0] // nodes.index.shape[0])
    kept, least = threshold(q, owner, nodes.size, K)
    c = least[owner]
    share = torch.where(kept | (c == 0), 0.0, q / c.clamp(min=1 / UNIT))
    order = (owner * UNIT + place).argsort(stable=True)
    chosen, live = systematic(share, kept, uniform(noise_key.keys()), owner, order, K)
    return chosen, live, torch.where(kept[chosen], q[chosen], least[:, None]).clamp(min=LEAST)


def threshold(q: Tensor, owner: Tensor, G: int, K: int) -> tuple[Tensor, Tensor]:
    """Find which candidates are kept with certainty, [M], and the threshold c of each graph, [G].

    c solves Σ min(1, q / c) = K over the candidates of a graph. In descending order, candidate j (counted from 0) is
    kept if q_j (K - j) ≥ Σ_{i ≥ j} q_i.
    """
    units = (q * UNIT).round().long()
    order = (owner * UNIT - units).argsort(stable=True)  # graph by graph
    s, first = units[order], _first(owner, G)
    before = _sum_before(s, first, owner)
    j = torch.arange(q.shape[0], device=q.device) - first[owner]
    total = _totals(units, owner, G)
    after = (total[owner] - before).double()
    keep = (s > 0) & (j < K) & (s * (K - j).double() >= after - after * ROUNDING)
    rest = total - _totals(torch.where(keep, s, 0), owner, G)
    left = K - _totals(keep.long(), owner, G)
    return torch.zeros_like(keep).scatter(0, order, keep), rest.double() / left.clamp(min=1) / UNIT


def systematic(share: Tensor, kept: Tensor, u: Tensor, owner: Tensor, order: Tensor, K: int) -> tuple[Tensor, Tensor]:
    """Draw each candidate with probability ``share`` by systematic sampling, and take all kept ones.

    A candidate is drawn if the running sum of the shares in the given order, plus u, passes an integer there.

    Args:
        share: Probability of each candidate, shape [M]. 0 for the kept ones.
        kept: Which candidates are kept with certainty, shape [M].
        u: One uniform random number per graph, shape [G].
        owner: Graph of each candidate, shape [M].
        order: Numbers of the candidates in their order, graph by graph, shape [M].
        K: Number of particles.

    Returns:
        Numbers of the candidates that are kept or drawn, shape [G, K]. If there are fewer than K, some are repeated.
        False for the repeated ones, shape [G, K].
    """
    G = u.shape[0]
    units, first = (share * TICK).round().long()[order], _first(owner, G)
    before = _sum_before(units, first, owner) + (u * TICK).long()[owner]
    drawn = ((before + units) // TICK > before // TICK) | kept[order]
    return first_places(drawn, order, owner, G, K)


def first_places(drawn: Tensor, order: Tensor, owner: Tensor, G: int, K: int) -> tuple[Tensor, Tensor]:
    """The first K drawn candidates of each graph; see :func:`systematic`. ``drawn`` [M] is sorted as ``order`` is."""
    first = _first(owner, G)
    rank = _sum_before(drawn.long(), first, owner)
    place = torch.where(drawn & (rank < K), owner * K + rank, G * K)
    own = order[first].repeat_interleave(K)  # any candidate of the graph, used if rounding left none drawn
    chosen = torch.cat([own, own[:1]]).scatter(0, place, order)[:-1].view(G, K)
    number = _totals(drawn.long(), owner, G).clamp(1, K)[:, None]
    k = torch.arange(K, device=order.device)
    return chosen.gather(1, k % number), k < number


def _totals(values: Tensor, owner: Tensor, G: int) -> Tensor:
    """The sum of the values of each graph, from int64 [M] to [G]."""
    return values.new_zeros(G).scatter_add(0, owner, values)


def _first(owner: Tensor, G: int) -> Tensor:
    """Number of the first candidate of each graph, from owner [M] to [G]."""
    sizes = _totals(torch.ones_like(owner), owner, G)
    return sizes.cumsum(0) - sizes


def _sum_before(values: Tensor, first: Tensor, owner: Tensor) -> Tensor:
    """For each candidate, the sum of the values before it in the same graph, from int64 [M] to [M]."""
    before = values.cumsum(0) - values
    return before - before[first][owner]


@torch.library.custom_op("pfgnn::smooth_noise", mutates_args=())
def _smooth_noise(
    key: Tensor,
    step: int,
    purpose: int,
    node_key: Tensor,
    rounds: int,
    source: Tensor,
    target: Tensor,
    batch: Tensor,
    graphs: int,
) -> Tensor:
    """:func:`smooth_noise` for torch.compile: ``batch`` [N] is the graph of each node, and there are so many."""
    sources = make_segments(source, batch.shape[0], ordered=False, other=target)
    targets, nodes = make_segments(target, batch.shape[0], ordered=True), make_segments(batch, graphs, ordered=True)
    return smooth_noise(NoiseKey(key, step, purpose), node_key, rounds, sources, targets, nodes)


@_smooth_noise.register_fake
def _(key: Tensor, step: int, purpose: int, node_key: Tensor, *_: object) -> Tensor:
    return torch.empty_like(node_key)


@torch.library.custom_op("pfgnn::choose", mutates_args=())
def _choose(
    q: Tensor, place: Tensor, key: Tensor, step: int, purpose: int, batch: Tensor, graphs: int, K: int
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`choose` for torch.compile."""
    return choose(q, place, NoiseKey(key, step, purpose), make_segments(batch, graphs, ordered=True), K)


@_choose.register_fake
def _(
    q: Tensor, place: Tensor, key: Tensor, step: int, purpose: int, batch: Tensor, graphs: int, K: int
) -> tuple[Tensor, Tensor, Tensor]:
    return place.new_empty(graphs, K), place.new_empty(graphs, K, dtype=torch.bool), q.new_empty(graphs, K)
