"""The policy: a distribution over the vertices, given the colouring of a particle, and draws from it."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.model.refine import Refine
from pfgnn.ops.draw import draw_vertex
from pfgnn.ops.mlp import hidden_score
from pfgnn.ops.segments import segment_log_softmax, segment_sum, sum_neighbours
from pfgnn.registry import Registry
from pfgnn.setting_types import MOST_STEPS, MOST_WIDTH

# Score of a vertex that may not be drawn. Its probability underflows to 0, and no NaN can arise. Scores are at least
# float32, so it is a finite number.
FORBIDDEN = -1e30

POLICIES: Registry[nn.Module] = Registry("policy")


class Vertices(NamedTuple):
    """The vertices that K particles draw.

    Fields:
        vertices: Node numbers in the batch, shape [G, K, m].
        valid: False for a draw that found no free vertex left, shape [G, K, m].
        log_prob: log P of the m draws in their order, shape [G, K].
    """

    vertices: Tensor
    valid: Tensor
    log_prob: Tensor


@POLICIES.register("mlp")
class MLPPolicy(nn.Module):
    """Scores each vertex with an MLP on its embedding, from H [N, K, D] to [N, K].

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        width = check_positive("width", width, most=MOST_WIDTH)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The score of each vertex, shape [N, K]; see the class."""
        return hidden_score(H, self.hidden.weight, self.hidden.bias, self.score.weight.flatten(), self.score.bias)


@POLICIES.register("gnn")
class GNNPolicy(nn.Module):
    """Scores each vertex with a separate GNN and a linear map, from H [N, K, D] to [N, K].

    Args:
        backbone: The GNN, from width D to width D.
        width: D.
    """

    def __init__(self, backbone: nn.Module, width: int) -> None:
        super().__init__()
        self.refine = Refine(backbone)
        self.linear = nn.Linear(check_positive("width", width, most=MOST_WIDTH), 1)

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The score of each vertex, shape [N, K]; see the class."""
        return self.linear(self.refine(H, graph)).squeeze(-1)


@POLICIES.register("uniform")
class UniformPolicy(nn.Module):
    """Gives every vertex the same score. Nothing is learned, as in the search tree of the exact solvers."""

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The score 0 for each vertex, shape [N, K]."""
        return H.new_zeros(H.shape[:2])


@POLICIES.register("centrality")
class CentralityPolicy(nn.Module):
    """Scores each vertex v by log(W_v) / L, where W_v is the number of walks of length L that end in v.

    Nothing is learned. Like the uniform policy, it is a baseline that a learned policy should beat. Long walks tell
    nearly all vertices apart that differ at all, so few vertices have equal scores. The division by L keeps the
    probabilities of the vertices close to each other, as those of walks of length 1, the degrees, would be.

    Args:
        length: Length L of the walks.
    """

    def __init__(self, length: int = 8) -> None:
        super().__init__()
        self.length = check_positive("length", length, most=MOST_STEPS)

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The score of each vertex, shape [N, K]; see the class."""
        walks = torch.ones(H.shape[0], 1, device=H.device, dtype=torch.float64)  # exact up to 2^53, so ties stay ties
        for _ in range(self.length):
            walks = sum_neighbours(walks, walks.new_zeros(()), graph.sources, graph.targets)
        return (walks.clamp(min=1).log() / self.length).expand(-1, H.shape[1]).to(H.dtype)


def check_scores(policy: nn.Module, scores: Tensor, step: int) -> None:
    """Raise an InputError that names the policy and the step, unless all scores are finite."""
    if not torch.isfinite(scores).all():
        name = type(policy).__name__
        raise InputError(f"the scores of {name} must be finite, but in step {step} some are not")


def allowed_vertices(used: Tensor | None, graph: GraphBatch) -> Tensor | None:
    """Which vertices each particle may draw: the unused ones, or all if every vertex of the graph is used.

    Args:
        used: Which vertices each particle has individualised, shape [N, K], or None if that is not tracked.
        graph: The batch of graphs.

    Returns:
        The mask, shape [N, K], or None if all vertices are allowed.
    """
    if used is None:
        return None
    left = segment_sum((~used).long(), graph.nodes)  # [G, K]
    return ~used | (left == 0)[graph.batch]


def mark_used(used: Tensor | None, vertices: Tensor, valid: Tensor) -> Tensor | None:
    """Add the drawn vertices to the used ones.

    Args:
        used: Which vertices each particle has individualised before, shape [N, K], or None if that is not tracked.
        vertices: The drawn vertices, shape [G, K, m].
        valid: Which draws are valid, shape [G, K, m].

    Returns:
        The new mask, shape [N, K], or None.
    """
    if used is None:
        return None
    column = torch.arange(used.shape[1], device=used.device)[:, None]
    # Counts the valid draws of each vertex. An invalid draw repeats a vertex, so it must add 0 and not write False.
    times = torch.zeros_like(used, dtype=torch.int32)
    return used | (times.index_put((vertices, column), valid.int(), accumulate=True) > 0)


def log_probabilities(scores: Tensor, free: Tensor | None, graph: GraphBatch) -> Tensor:
    """log P(v | H): the log softmax of the scores over the free vertices of each graph.

    Args:
        scores: Scores of the vertices, shape [N, K].
        free: Which vertices may be drawn, shape [N, K], or None for all.
        graph: The batch of graphs.

    Returns:
        The log probabilities, shape [N, K].
    """
    return segment_log_softmax(_of_free(scores, free), graph.nodes)


def _of_free(scores: Tensor, free: Tensor | None) -> Tensor:
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return scores if free is None else torch.where(free, scores, FORBIDDEN)


def draw_vertices(
    scores: Tensor, free: Tensor | None, graph: GraphBatch, noise: Noise, step: int, particles: Tensor, m: int
) -> Vertices:
    """Draw m distinct vertices for each particle, one after the other, each v ~ P(V | H) over those left (line 7).

    Each node has its own noise, so the draws can be made to follow a relabelling of the nodes.

    Args:
        scores: Scores of the vertices, shape [N, K], or [N, 1] while all particles are equal.
        free: Which vertices may be drawn, shape [N, K], or None for all.
        graph: The batch of graphs.
        noise: The random numbers of the pass.
        step: t.
        particles: Numbers of the particles, shape [K].
        m: Number of vertices to draw.
    """
    vertices, valid, log_prob = [], [], []
    for j in range(m):
        noise_key = noise.key(step, Purpose.VERTEX)
        v, log_p_v = draw_vertex(_of_free(scores, free), noise_key, particles, j, noise.node, graph.nodes)  # [G, K]
        vertices.append(v)
        if free is None:
            valid.append(torch.ones_like(v, dtype=torch.bool))
            log_prob.append(log_p_v)
        else:
            valid.append(free.gather(0, v))
            log_prob.append(torch.where(valid[-1], log_p_v, 0.0))
        if j + 1 < m:  # the next draw must not take v again
            column = torch.arange(v.shape[1], device=v.device)
            taken = torch.zeros(scores.shape[0], v.shape[1], dtype=torch.bool, device=v.device)
            taken[v, column] = True
            free = ~taken if free is None else free & ~taken
    return Vertices(_side_by_side(vertices), _side_by_side(valid), sum(log_prob[1:], log_prob[0]))


def _side_by_side(draws: list[Tensor]) -> Tensor:
    """Stack m draws of shape [G, K] into one tensor [G, K, m]."""
    return torch.stack(draws, -1) if len(draws) > 1 else draws[0][..., None]
