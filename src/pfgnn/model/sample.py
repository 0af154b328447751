"""Draws of a step (line 7): which particles go on, and with which vertices."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from pfgnn.arguments import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.model.belief import Belief
from pfgnn.model.policy import allowed_vertices, draw_vertices, log_probabilities, mark_used
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.ops.hashing import uniform
from pfgnn.ops.segments import segment_sum, spread
from pfgnn.ops.weigh import FLOOR, normalise
from pfgnn.registry import Registry

UNIT = 2**40  # weights are counted in units of 1 / UNIT, so that those of 2^22 graphs can be summed in 64 bits
TICK = 2**36  # and probabilities, which add up to K, in units of 1 / TICK
ROUNDING = 1e-9  # a path is kept if its weight reaches the threshold up to this

SAMPLERS: Registry[nn.Module] = Registry("sampling")


class Draw(NamedTuple):
    """What a step draws for K particles.

    Fields:
        vertices: the vertices to individualise, as node numbers in the batch, [G, K, m].
        valid: False where a graph of fewer than m free vertices had none left, [G, K, m].
        log_prob: log P of the particle's m vertices under the policy, [G, K].
        parents: the particle of the belief before the step that each one goes on from, [G, K]; None if it is itself.
        log_weights: log w after the draw, normalised, [G, K].
        entropy: of the policy's distribution at each parent, [G, K]; None where it was not computed.
    """

    vertices: Tensor
    valid: Tensor
    log_prob: Tensor
    parents: Tensor | None
    log_weights: Tensor
    entropy: Tensor | None

    def take(self, part: slice) -> "Draw":
        """The draws of some particles."""
        return Draw(*(None if field is None else field[:, part] for field in self))  # type: ignore[arg-type]

    def follow(self, belief: Belief, graph: GraphBatch) -> Belief:
        """The belief whose particles are copies of the parents, with the new weights; not yet individualised."""
        if self.parents is not None:
            belief = belief.select(self.parents, self.log_weights, graph.nodes)
        return belief._replace(log_weights=self.log_weights, used=mark_used(belief.used, self.vertices, self.valid))

    def record(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Vertices, valid, log_prob, parents and entropy, for the trace."""
        G, K = self.log_prob.shape
        own = torch.arange(K, device=self.log_prob.device).expand(G, K)
        parents = own if self.parents is None else self.parents
        entropy = -self.log_prob.detach() if self.entropy is None else self.entropy
        return self.vertices, self.valid, self.log_prob, parents, entropy


@SAMPLERS.register("independent")
class Independent(nn.Module):
    """Each particle draws its own vertices, v ~ P(V | H_k), whatever the others draw (the paper's line 7).

    Two particles may draw the same path. The weights stay as they are.

    Args:
        vertices: m, how many distinct vertices a particle draws at once.
    """

    def __init__(self, vertices: int = 1) -> None:
        super().__init__()
        self.vertices = check_positive("vertices", vertices)

    def forward(self, scores: Tensor, belief: Belief, graph: GraphBatch, noise: Noise, step: int) -> Draw:
        """Draw from scores [N, K], or [N, 1] while all particles are equal."""
        K = belief.log_weights.shape[1]
        k = torch.arange(K, device=scores.device)
        free = allowed_vertices(belief.used, graph)
        vertices, valid, log_prob = draw_vertices(scores, free, graph, noise, step, k, self.vertices)
        return Draw(vertices, valid, log_prob, None, belief.log_weights, None)


class Candidates(NamedTuple):
    """All children of all particles, I = (path of k, vertex v), as rows v · P + k: M = N P of them.

    Fields:
        log_p: log P(v | H_k), with its gradient, [N, P]; P is 1 while all particles are equal.
        parent_weight: log w_k, [G, P].
        q: w_k P(v | H_k), [M].
        owner: the graph of each one, [M].
    """

    log_p: Tensor
    parent_weight: Tensor
    q: Tensor
    owner: Tensor

    def draw(self, chosen: Tensor, live: Tensor, log_weight: Tensor | None, graph: GraphBatch) -> Draw:
        """The draw of the chosen ones [G, K]; those that are not ``live`` weigh nothing.

        Their log-weights [G, K] are log q, or those given; the gradient is that of log q.
        """
        P = self.log_p.shape[1]
        vertices, parents = chosen // P, chosen % P
        log_prob = self.log_p.flatten()[chosen]
        log_q = self.parent_weight.gather(1, parents) + log_prob
        if log_weight is not None:
            log_q = log_q + (log_weight.to(log_q.dtype) - log_q).detach()
        entropy = -segment_sum(self.log_p.exp() * self.log_p.clamp(min=FLOOR), graph.nodes)  # [G, P]
        return Draw(
            vertices[..., None],
            torch.ones_like(vertices, dtype=torch.bool)[..., None],
            log_prob,
            parents,
            normalise(torch.where(live, log_q, FLOOR)),  # its gradient compares the particles with each other
            entropy.gather(1, parents),
        )


def _candidates(scores: Tensor, belief: Belief, graph: GraphBatch) -> Candidates:
    G, K = belief.log_weights.shape
    P = scores.shape[1]  # 1 while all particles are equal: their weights add up to 1
    parent_weight = belief.log_weights if P == K else belief.log_weights.new_zeros(G, 1)
    free = allowed_vertices(belief.used, graph)
    log_p = log_probabilities(scores, None if free is None else free[:, :P], graph)  # [N, P]
    q = (parent_weight[graph.batch] + log_p).detach().double().exp().flatten()
    return Candidates(log_p, parent_weight, q, graph.batch.repeat_interleave(P))


@SAMPLERS.register("distinct")
class Distinct(nn.Module):
    """K distinct paths of the search tree, drawn without replacement (Fearnhead and Clifford, JRSS B 2003).

    The candidates are all children of all particles, I = (path of k, vertex v), with weights q_I = w_k P(v | H_k).
    A threshold c solves Σ_I min(1, q_I / c) = K. Each candidate with q_I ≥ c is kept with its weight q_I. Any other one
    is drawn with probability q_I / c, and then has weight c. This is systematic sampling, in a random order that goes
    through the children of one particle after the other. So E w_I = q_I for every path: Σ_I w_I f(I) has no bias. The
    weights add up to 1. Where there are no more than K candidates, all are kept and the sum is exact (up to those with
    q_I below 2^-41, which are left out).

    With equal weights each particle goes on with one child. With unequal ones paths compete over the whole tree. No
    other resampling is needed.

    The order is random but smooth: random numbers on the vertices are averaged with those of the neighbours
    ``smoothing`` times, and the vertices follow each other by the result. Vertices near each other in the graph then
    stand near each other in the order, and the drawn ones lie spread over the graph. Each of P particles begins at
    another place of this order, the p-th after a share p / P of it, so that children of different particles lie spread
    too. Any order gives the right expectation; this one gives less variance.

    The new log-weights carry the gradient of log q_I. So the policy learns from the loss through the weights. This
    gradient compares the K particles with each other: it is exact with all paths, slightly biased with fewer, and 0 for
    K = 1.

    Args:
        smoothing: rounds of averaging.
    """

    vertices = 1

    def __init__(self, smoothing: int = 16) -> None:
        super().__init__()
        self.smoothing = check_positive("smoothing", smoothing, least=0)

    def forward(self, scores: Tensor, belief: Belief, graph: GraphBatch, noise: Noise, step: int) -> Draw:
        """Draw from scores [N, K], or [N, 1] while all particles are equal."""
        G, K = belief.log_weights.shape
        candidates = _candidates(scores, belief, graph)
        q, owner = candidates.q, candidates.owner
        kept, threshold = _threshold(q, owner, G, K)
        c = threshold[owner]
        share = torch.where(kept | (c == 0), 0.0, q / c.clamp(min=1 / UNIT))
        u = uniform(noise.key(step, Purpose.PATH).keys())
        chosen, live = _systematic(share, kept, u, owner, self._order(graph, noise, step, scores.shape[1]), K)
        weight = torch.where(kept[chosen], q[chosen], threshold[:, None]).clamp(min=1e-30)  # not log 0
        return candidates.draw(chosen, live, weight.log(), graph)

    def _order(self, graph: GraphBatch, noise: Noise, step: int, P: int) -> Tensor:
        """The candidates in the order in which they are drawn from, graph by graph: [N P] numbers."""
        noise_key = noise.key(step, Purpose.PATH)
        signal = (noise.per_node(step, Purpose.VERTEX, torch.zeros_like(graph.batch[:1])) * UNIT).long()  # [N, 1]
        degree = graph.targets.counts[:, None]
        for _ in range(self.smoothing):  # halfway to the neighbours' mean; integers, so that no rounding changes ranks
            around = segment_sum(spread(signal, graph.sources), graph.targets)
            signal = torch.where(degree > 0, (degree * signal + around) // (2 * degree).clamp(min=1), signal)
        order = (graph.batch * UNIT + signal.squeeze(1)).argsort(stable=True)
        if P == 1:
            return order
        n = graph.sizes[graph.batch]
        rank = torch.empty_like(order).scatter(0, order, torch.arange(len(order), device=order.device))
        rank = rank - graph.first[graph.batch]
        k = torch.arange(P, device=order.device)
        turn = uniform(noise_key.keys_of(k, 1)).argsort(1).argsort(1)[graph.batch]  # a particle's turn, [N, P]
        within = (rank.double() / n)[:, None] + turn.double() / P
        return (graph.batch[:, None] + (turn + within.frac()) / P).flatten().argsort()


@SAMPLERS.register("top")
class Top(nn.Module):
    """The K most probable paths of the search tree, as beam search keeps them.

    The candidates are those of :class:`Distinct`, I = (path of k, vertex v), with weights q_I = w_k P(v | H_k). The K
    largest are kept, and their weights scaled to add up to 1. Chance decides only between equal ones. So a
    prediction hardly changes from draw to draw, even with few particles. In return Σ_I w_I f(I) is biased towards
    the paths that the policy prefers, until K reaches the number of paths; then it is exact.

    It makes sense with a policy that prefers some vertices, such as :class:`CentralityPolicy`.
    """

    vertices = 1

    def forward(self, scores: Tensor, belief: Belief, graph: GraphBatch, noise: Noise, step: int) -> Draw:
        """Choose by scores [N, K], or [N, 1] while all particles are equal."""
        K = belief.log_weights.shape[1]
        candidates = _candidates(scores, belief, graph)
        k = torch.arange(scores.shape[1], device=scores.device)
        by_chance = noise.per_node(step, Purpose.VERTEX, k).flatten().argsort()
        units = (candidates.q * UNIT).round().long()
        place = candidates.owner * UNIT - units
        order = by_chance[place[by_chance].argsort(stable=True)]  # graph by graph, the largest first
        chosen, live = _first_places(units[order] > 0, order, candidates.owner, graph.num_graphs, K)
        return candidates.draw(chosen, live, None, graph)


def _threshold(q: Tensor, owner: Tensor, G: int, K: int) -> tuple[Tensor, Tensor]:
    """Which candidates are kept for certain [M], and each graph's threshold c [G], where Σ min(1, q / c) = K.

    In descending order, the j-th (from 0) is kept if q_j (K - j) is no less than the sum of those from j on.
    """
    units = (q * UNIT).round().long()
    order = (owner * UNIT - units).argsort(stable=True)  # graph by graph
    s, first = units[order], _first(owner, G)
    before = _sum_before(s, first, owner)
    j = torch.arange(len(q), device=q.device) - first[owner]
    total = _totals(units, owner, G)
    keep = (s > 0) & (j < K) & (s * (K - j).double() >= (total[owner] - before).double() * (1 - ROUNDING))
    rest = total - _totals(torch.where(keep, s, 0), owner, G)
    left = K - _totals(keep.long(), owner, G)
    return torch.zeros_like(keep).scatter(0, order, keep), rest.double() / left.clamp(min=1) / UNIT


def _systematic(share: Tensor, kept: Tensor, u: Tensor, owner: Tensor, order: Tensor, K: int) -> tuple[Tensor, Tensor]:
    """Draw each candidate with probability ``share`` [M]: one at each tick u, u + 1, ... of the sum; and all kept ones.

    Returns:
        chosen: the candidates kept or drawn, [G, K]; a place without one of its own repeats an earlier one.
        live: which places have one of their own, [G, K].
    """
    G = len(u)
    units, first = (share * TICK).round().long()[order], _first(owner, G)
    before = _sum_before(units, first, owner) + (u * TICK).long()[owner]
    drawn = ((before + units) // TICK > before // TICK) | kept[order]
    return _first_places(drawn, order, owner, G, K)


def _first_places(drawn: Tensor, order: Tensor, owner: Tensor, G: int, K: int) -> tuple[Tensor, Tensor]:
    """The first K of each graph's drawn candidates, in an order that goes graph by graph; see :func:`_systematic`.

    Args:
        drawn: which are drawn, in the order, [M].
        order: the candidates in their order, [M].
        owner: the graph of each candidate, [M].
        G, K: numbers of graphs and of places.
    """
    first = _first(owner, G)
    rank = _sum_before(drawn.long(), first, owner)
    place = torch.where(drawn & (rank < K), owner * K + rank, G * K)
    own = order[first].repeat_interleave(K)  # a candidate of the graph, where rounding left none
    chosen = torch.cat([own, own[:1]]).scatter(0, place, order)[:-1].view(G, K)
    number = _totals(drawn.long(), owner, G).clamp(1, K)[:, None]
    k = torch.arange(K, device=order.device)
    return chosen.gather(1, k % number), k < number


# Sums over candidates are of integers: the same bits in any batch and on any device.


def _totals(values: Tensor, owner: Tensor, G: int) -> Tensor:
    """The sum of each graph's values: int64 [M] -> [G]."""
    return values.new_zeros(G).scatter_add(0, owner, values)


def _first(owner: Tensor, G: int) -> Tensor:
    """Each graph's first candidate: [M] -> [G]."""
    sizes = _totals(torch.ones_like(owner), owner, G)
    return sizes.cumsum(0) - sizes


def _sum_before(values: Tensor, first: Tensor, owner: Tensor) -> Tensor:
    """The sum of the values that come earlier in the same graph: int64 [M] -> [M]."""
    before = values.cumsum(0) - values
    return before - before[first][owner]
