"""The policy: a distribution over the vertices, given a particle's colouring, and draws from it."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from pfgnn.arguments import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.numeric import BOUND
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.model.refine import Refine
from pfgnn.ops.draw import draw_vertex
from pfgnn.ops.mlp import hidden_score
from pfgnn.ops.segments import segment_log_softmax, segment_sum, sum_neighbours
from pfgnn.registry import Registry

# The score of a vertex that may not be drawn: its probability underflows to 0, and nothing turns into NaN.
FORBIDDEN = -1e30  # scores are at least float32

POLICIES: Registry[nn.Module] = Registry("policy")


class Vertices(NamedTuple):
    """The vertices that K particles draw.

    Fields: ``vertices`` [G, K, m], node numbers in the batch; ``valid`` [G, K, m], False where a graph of fewer
    than m free vertices had none left; ``log_prob`` [G, K], log P of the m draws in their order.
    """

    vertices: Tensor
    valid: Tensor
    log_prob: Tensor


@POLICIES.register("mlp")
class MLPPolicy(nn.Module):
    """Scores by an MLP on each node embedding: H [N, K, D] -> [N, K]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The vertices' scores; see the class."""
        return hidden_score(H, self.hidden.weight, self.hidden.bias, self.score.weight.flatten(), self.score.bias)


@POLICIES.register("gnn")
class GNNPolicy(nn.Module):
    """Scores by a GNN of its own, then a linear map: H [N, K, D] -> [N, K]. Args: backbone: D to D; width: D."""

    def __init__(self, backbone: nn.Module, width: int) -> None:
        super().__init__()
        self.refine = Refine(backbone)
        self.linear = nn.Linear(width, 1)

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The vertices' scores; see the class."""
        return self.linear(self.refine(H, graph)).squeeze(-1)


@POLICIES.register("uniform")
class UniformPolicy(nn.Module):
    """The same score for every vertex: nothing is learned, as in the search tree of the exact solvers."""

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The vertices' scores; see the class."""
        return H.new_zeros(H.shape[:2])


@POLICIES.register("centrality")
class CentralityPolicy(nn.Module):
    """A fixed score for every vertex: the log of the number of walks of a given length that end in it.

    Nothing is learned. It is what a learned policy should beat beside the uniform one.

    Args:
        length: of the walks.
    """

    def __init__(self, length: int = 4) -> None:
        super().__init__()
        self.length = check_positive("length", length)

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The vertices' scores; see the class."""
        walks = torch.ones(len(H), 1, device=H.device)
        for _ in range(self.length):
            walks = sum_neighbours(walks, walks.new_zeros(()), graph.sources, graph.targets)
        return walks.clamp(1, BOUND).log().expand(-1, H.shape[1]).to(H.dtype)


def check_scores(policy: nn.Module, scores: Tensor, step: int) -> None:
    """A ValueError that names the policy and the step unless all scores are finite."""
    if not torch.isfinite(scores).all():
        name = type(policy).__name__
        raise InputError(f"the scores of {name} must be finite, but in step {step} some are not")


def allowed_vertices(used: Tensor | None, graph: GraphBatch) -> Tensor | None:
    """The vertices a particle may draw: the unused ones, or all once every vertex is used: [N, K] or None."""
    if used is None:
        return None
    left = segment_sum((~used).long(), graph.nodes)  # [G, K]
    return ~used | (left == 0)[graph.batch]


def mark_used(used: Tensor | None, vertices: Tensor, valid: Tensor) -> Tensor | None:
    """The used vertices [N, K] after draws [G, K, m]; None if they are not tracked."""
    if used is None:
        return None
    column = torch.arange(used.shape[1], device=used.device)[:, None]
    times = torch.zeros_like(used, dtype=torch.int32)  # counted, for a draw that is not valid repeats a vertex
    return used | (times.index_put((vertices, column), valid.int(), accumulate=True) > 0)


def log_probabilities(scores: Tensor, free: Tensor | None, graph: GraphBatch) -> Tensor:
    """log P(v | H) = log softmax of the scores over the free vertices of each graph: [N, K] -> [N, K]."""
    return segment_log_softmax(_of_free(scores, free), graph.nodes)


def _of_free(scores: Tensor, free: Tensor | None) -> Tensor:
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return scores if free is None else torch.where(free, scores, FORBIDDEN)


def draw_vertices(
    scores: Tensor, free: Tensor | None, graph: GraphBatch, noise: Noise, step: int, particles: Tensor, m: int
) -> Vertices:
    """m distinct vertices a particle, one after the other, each v ~ P(V | H) over those left (line 7).

    The noise sits on the nodes, so it can be carried along with a relabelling. Scores [N, K], or [N, 1] while all
    particles are equal; free [N, K] or None.
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
        if j + 1 < m:  # the next draw is over the others
            column = torch.arange(v.shape[1], device=v.device)
            taken = torch.zeros(len(scores), v.shape[1], dtype=torch.bool, device=v.device)
            taken[v, column] = True
            free = ~taken if free is None else free & ~taken
    return Vertices(_side_by_side(vertices), _side_by_side(valid), sum(log_prob[1:], log_prob[0]))


def _side_by_side(draws: list[Tensor]) -> Tensor:
    """m draws [G, K] as one: [G, K, m]."""
    return torch.stack(draws, -1) if len(draws) > 1 else draws[0][..., None]
