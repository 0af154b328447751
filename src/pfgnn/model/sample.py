"""The draws of a step (line 7): which particles continue, and which vertices they individualise."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.model.belief import Belief
from pfgnn.model.policy import allowed_vertices, draw_vertices, log_probabilities, mark_used
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.ops.candidates import UNIT, choose, first_places, smooth_noise
from pfgnn.ops.hashing import uniform
from pfgnn.ops.segments import segment_sum
from pfgnn.ops.weights import FLOOR, normalise
from pfgnn.registry import Registry
from pfgnn.setting_types import MOST_PARTICLES

SAMPLERS: Registry[nn.Module] = Registry("sampling")


class Draw(NamedTuple):
    """The draws of one step for K particles.

    Fields:
        vertices: The vertices to individualise, as node numbers in the batch, shape [G, K, m].
        valid: False for a draw that found no free vertex left, shape [G, K, m].
        log_prob: log P of the particle's m vertices under the policy, shape [G, K].
        parents: Number of the particle before the step from which each particle continues, shape [G, K]. None if each
            continues from itself.
        log_weights: log w after the draw, normalised, shape [G, K].
        entropy: Entropy of the policy at each parent, shape [G, K]. None if it was not computed.
    """

    vertices: Tensor
    valid: Tensor
    log_prob: Tensor
    parents: Tensor | None
    log_weights: Tensor
    entropy: Tensor | None

    def take(self, part: slice) -> "Draw":
        """The draws of the particles in a slice."""
        return Draw(*(None if field is None else field[:, part] for field in self))  # type: ignore[arg-type]

    def follow(self, belief: Belief, graph: GraphBatch) -> Belief:
        """The belief after the draw: copies of the parents with the new weights. Nothing is individualised yet."""
        if self.parents is not None:
            belief = belief.select(self.parents, self.log_weights, graph.nodes)
        return belief._replace(log_weights=self.log_weights, used=mark_used(belief.used, self.vertices, self.valid))

    def record(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The first fields of a StepTrace: vertices, valid, log_prob, parents and entropy."""
        G, K = self.log_prob.shape
        own = torch.arange(K, device=self.log_prob.device).expand(G, K)
        parents = own if self.parents is None else self.parents
        entropy = -self.log_prob.detach() if self.entropy is None else self.entropy
        return self.vertices, self.valid, self.log_prob, parents, entropy


@SAMPLERS.register("independent")
class Independent(nn.Module):
    """Each particle draws its own vertices, v ~ P(V | H_k), independently of the others (line 7 of the paper).

    Two particles may draw the same path. The weights do not change.

    Args:
        vertices: m, the number of distinct vertices that a particle draws in each step.
    """

    def __init__(self, vertices: int = 1) -> None:
        super().__init__()
        self.vertices = check_positive("vertices", vertices, most=MOST_PARTICLES)

    def forward(self, scores: Tensor, belief: Belief, graph: GraphBatch, noise: Noise, step: int) -> Draw:
        """Draw vertices by their scores.

        Args:
            scores: Scores of the vertices, shape [N, K], or [N, 1] while all particles are equal.
            belief: Belief before the step.
            graph: The batch of graphs.
            noise: The random numbers of the pass.
            step: t.
        """
        K = belief.log_weights.shape[1]
        k = torch.arange(K, device=scores.device)
        free = allowed_vertices(belief.used, graph)
        vertices, valid, log_prob = draw_vertices(scores, free, graph, noise, step, k, self.vertices)
        return Draw(vertices, valid, log_prob, None, belief.log_weights, None)


class Candidates(NamedTuple):
    """All M = N P children I = (path of particle k, vertex v) of all particles. Their numbers are v · P + k.

    Fields:
        log_p: log P(v | H_k), with its gradient, shape [N, P], where P is K, or 1 while all particles are equal.
        parent_weight: log w_k, shape [G, P].
        q: w_k P(v | H_k), shape [M].
        owner: Graph of each candidate, shape [M].
    """

    log_p: Tensor
    parent_weight: Tensor
    q: Tensor
    owner: Tensor

    def draw(self, chosen: Tensor, live: Tensor, log_weight: Tensor | None, graph: GraphBatch) -> Draw:
        """The draw of the chosen candidates [G, K]. Those that are not ``live`` [G, K] get almost no weight.

        The log weights are ``log_weight`` [G, K], or log q if that is None. In both cases their gradient is that of
        log q.
        """
        P = self.log_p.shape[1]
        vertices, parents = chosen // P, chosen % P
        log_prob = self.log_p.flatten()[chosen]
        log_q = self.parent_weight.gather(1, parents) + log_prob
        if log_weight is not None:
            log_q = log_q + (log_weight.to(log_q.dtype) - log_q).detach()
        entropy = -segment_sum(self.log_p.exp() * self.log_p.clamp(min=FLOOR), graph.nodes)  # [G, P]
        broken = 0 * entropy.detach().sum(1, keepdim=True)  # 0, or NaN if a score of the graph is NaN
        return Draw(
            vertices[..., None],
            torch.ones_like(vertices, dtype=torch.bool)[..., None],
            log_prob,
            parents,
            # The gradient of the weights compares the particles with each other.
            normalise(torch.where(live, log_q, FLOOR)) + broken,
            entropy.gather(1, parents),
        )


def _candidates(scores: Tensor, belief: Belief, graph: GraphBatch) -> Candidates:
    G, K = belief.log_weights.shape
    P = scores.shape[1]  # 1 while all particles are equal; then their total weight is 1
    parent_weight = belief.log_weights if P == K else belief.log_weights.new_zeros(G, 1)
    free = allowed_vertices(belief.used, graph)
    log_p = log_probabilities(scores, None if free is None else free[:, :P], graph)  # [N, P]
    # A NaN counts as 0 here, so that it cannot disturb the draws of other graphs. The new log weights are NaN.
    q = (parent_weight[graph.batch] + log_p).detach().double().exp().nan_to_num(0.0).flatten()
    return Candidates(log_p, parent_weight, q, graph.batch.repeat_interleave(P))


@SAMPLERS.register("distinct")
class Distinct(nn.Module):
    """K distinct paths of the search tree, drawn without replacement (Fearnhead and Clifford, JRSS B 2003).

    The candidates are all children of all particles, I = (path of particle k, vertex v), with weights
    q_I = w_k P(v | H_k). A threshold c solves Σ_I min(1, q_I / c) = K. Each candidate with q_I ≥ c is kept, with its
    weight q_I. Any other one is drawn with probability q_I / c, and then has weight c. So E w_I = q_I for every path,
    and Σ_I w_I f(I) is unbiased. The weights sum to 1. If there are at most K candidates, all are kept and the sum is
    exact (except that candidates with q_I below 2^-41 are left out).

    With equal weights each particle continues with one child. With unequal weights the paths of the whole tree compete.
    No other resampling is needed.

    The draws are made by systematic sampling: the candidates are sorted, and evenly spaced ones are drawn. Any order
    gives the right expectation, and this one reduces the variance. It goes through the particles one after the other.
    To sort the vertices, each one gets a random number, which is averaged with those of its neighbours ``smoothing``
    times. So vertices close in the graph are close in the order, and the drawn ones are spread over the graph. Each of
    P particles starts at another vertex of this order: the p-th one after a share p / P of it. So the children of
    different particles are spread over the graph too.

    The new log weights carry the gradient of log q_I. Through them the policy learns from the loss. This gradient
    compares the K particles with each other. It is exact if all paths are kept, slightly biased otherwise, and 0 for
    K = 1.

    Args:
        smoothing: Number of rounds of averaging.
    """

    vertices = 1

    def __init__(self, smoothing: int = 16) -> None:
        super().__init__()
        self.smoothing = check_positive("smoothing", smoothing, least=0)

    def forward(self, scores: Tensor, belief: Belief, graph: GraphBatch, noise: Noise, step: int) -> Draw:
        """Draw K distinct paths; see :class:`Independent` for the arguments."""
        candidates = _candidates(scores, belief, graph)
        place = self._places(graph, noise, step, scores.shape[1])
        K, noise_key = belief.log_weights.shape[1], noise.key(step, Purpose.PATH)
        chosen, live, weight = choose(candidates.q, place, noise_key, graph.nodes, K)
        return candidates.draw(chosen, live, weight.log(), graph)

    def _places(self, graph: GraphBatch, noise: Noise, step: int, P: int) -> Tensor:
        """Place of each candidate in the order of the systematic sampling, from 0 to UNIT - 1, shape [N P]."""
        noise_key = noise.key(step, Purpose.VERTEX)
        signal = smooth_noise(noise_key, noise.node, self.smoothing, graph.sources, graph.targets, graph.nodes)  # [N]
        if P == 1:
            return signal
        order = (graph.batch * UNIT + signal).argsort(stable=True)
        n = graph.sizes[graph.batch]
        rank = torch.empty_like(order).scatter(0, order, torch.arange(order.shape[0], device=order.device))
        rank = rank - graph.first[graph.batch]
        k = torch.arange(P, device=order.device)
        keys = noise.key(step, Purpose.PATH).keys_of(k, 1)
        turn = uniform(keys).argsort(1).argsort(1)[graph.batch]  # rank of each particle, [N, P]
        within = (rank.double() / n)[:, None] + turn.double() / P
        return ((turn + within.frac()) / P * UNIT).long().flatten()


@SAMPLERS.register("top")
class Top(nn.Module):
    """The K most probable paths of the search tree, as in beam search.

    The candidates are those of :class:`Distinct`, I = (path of particle k, vertex v), with weights
    q_I = w_k P(v | H_k). The K candidates with the largest weights are kept, and their weights are scaled to sum to 1.
    Only ties are broken at random. So a prediction hardly changes from draw to draw, even with few particles. But
    Σ_I w_I f(I) is biased towards the paths that the policy prefers. It is exact if K reaches the number of paths.

    Use it with a policy that prefers some vertices, such as :class:`CentralityPolicy`.
    """

    vertices = 1

    def forward(self, scores: Tensor, belief: Belief, graph: GraphBatch, noise: Noise, step: int) -> Draw:
        """Choose the K most probable paths; see :class:`Independent` for the arguments."""
        K = belief.log_weights.shape[1]
        candidates = _candidates(scores, belief, graph)
        k = torch.arange(scores.shape[1], device=scores.device)
        by_chance = noise.per_node(step, Purpose.VERTEX, k).flatten().argsort()
        units = (candidates.q * UNIT).round().long()
        place = candidates.owner * UNIT - units
        order = by_chance[place[by_chance].argsort(stable=True)]  # graph by graph, the largest weight first
        chosen, live = first_places(units[order] > 0, order, candidates.owner, graph.num_graphs, K)
        return candidates.draw(chosen, live, None, graph)
