"""Readout: from the beliefs of all steps to a prediction per graph or per node (lines 15 and 16)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, TypedDict, Unpack

import torch
from torch import Tensor, nn

from pfgnn.arguments import check_positive, choose
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.belief import Belief
from pfgnn.model.mlp import MLP
from pfgnn.ops.particles import average_particles
from pfgnn.ops.segments import segment_max, segment_mean, segment_sum, spread
from pfgnn.registry import Registry

POOLS = {"sum": segment_sum, "mean": segment_mean, "max": segment_max}


class Reading(NamedTuple):
    """What is read of one step.

    Fields:
        features: f_t of each graph or node, [G, D'] or [N, D'].
        parts: what each particle adds to it, so that f_t = Σ_k w_k parts_k, [G, K, D']; None where they are not told.
    """

    features: Tensor
    parts: Tensor | None


class Options(TypedDict, total=False):
    """The arguments of a :class:`Readout` that all readouts take by name."""

    level: str
    pool: str
    scale: float
    join: Sequence[int]


class Readout(nn.Module, ABC):
    """y = MLP(CONCAT_t f_t). Subclasses say how f_t is read of the belief of step t.

    Args:
        width: D.
        steps: T; t = 0, the colouring before any individualisation, is read too.
        out_channels: C.
        level: "graph" for a prediction per graph, "node" for one per node.
        pool: over the nodes of a graph: "sum", "mean" or "max".
        scale: what pooled values are multiplied by. With sums, 1 / (mean number of nodes) keeps them near 1.
        join: how many layers each refinement 0 to T has. If it is given, f_t is read of all layers of refinement t, put
            side by side and mapped to D. Otherwise it is read of the last layer.
        columns: D', the size of f_t.
    """

    def __init__(
        self,
        width: int,
        steps: int,
        out_channels: int,
        *,
        level: str = "graph",
        pool: str = "mean",
        scale: float = 1.0,
        join: Sequence[int] = (),
        columns: int | None = None,
    ) -> None:
        super().__init__()
        self.width, self.steps = width, steps
        reduce = choose("pool", pool, POOLS)
        self.reduce = reduce if choose("level", level, {"graph": True, "node": False}) else None
        self.scale = scale
        if join and len(join) != steps + 1:
            raise InputError(f"join must name the layers of {steps + 1} refinements, but it names {len(join)}")
        self.join = nn.ModuleList(nn.Linear(layers * width, width) for layers in join)
        C = check_positive("out_channels", out_channels)
        self.head = MLP((steps + 1) * (columns or width), width, C)

    def read(
        self,
        t: int,
        belief: Belief,
        graph: GraphBatch,
        layers: Sequence[Tensor] = (),
        vertices: Tensor | None = None,
    ) -> Reading:
        """Read the belief of step t.

        Args:
            t: the step.
            belief: of that step.
            graph: the graphs.
            layers: the outputs of the refinement's layers, [N, K, D] each; needed if they are joined.
            vertices: those that the particles individualised in that step, [G, K, m]; None for t = 0.
        """
        if self.join:
            belief = belief._replace(embeddings=self.join[t](torch.cat(list(layers), -1)))
        return self.summarise(t, belief, graph, vertices)

    @abstractmethod
    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None) -> Reading:
        """f_t of a belief."""

    def pool(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """Pool over the nodes of each graph: [N, ...] -> [G, ...]; at node level H as it is."""
        if self.reduce is None:
            return H
        pooled = self.reduce(H.contiguous(), graph.nodes)
        return pooled if self.scale == 1 else pooled * self.scale

    def forward(self, readings: Sequence[Reading]) -> Tensor:
        """Predict from the readings of steps 0 to T: [G, C] or [N, C]."""
        return self.head(embedding(readings))

    def without_each(self, readings: Sequence[Reading], weights: Sequence[Tensor]) -> Tensor:
        """The predictions with one particle of one step left out, and with none: [T, G, K + 1, C], the last with all.

        The weight of a particle that is left out goes to the others: f_t becomes Σ_{j ≠ k} w_j parts_j / (1 - w_k).

        Args:
            readings: of steps 0 to T.
            weights: w of steps 1 to T, [G, K] each.
        """
        features = [reading.features.float() for reading in readings]
        changed = []
        for t, w in enumerate(weights, start=1):
            parts = readings[t].parts
            if parts is None:
                raise InputError(f"readout must be PerParticle to leave particles out, but it is {type(self).__name__}")
            K = w.shape[1]
            others = torch.cat([1 - torch.eye(K, device=w.device), torch.ones(1, K, device=w.device)])  # [K + 1, K]
            kept = w.float()[:, None] * others  # [G, K + 1, K]
            kept = kept / kept.sum(-1, keepdim=True).clamp(min=1e-30)
            left = (kept[..., None] * parts.float()[:, None]).sum(2)  # [G, K + 1, D'], no product in low precision
            rest = [f[:, None].expand_as(left) for f in features]
            changed.append(torch.cat([*rest[:t], left, *rest[t + 1 :]], -1))
        return self.head(torch.stack(changed).to(next(self.head.parameters()).dtype))


def embedding(readings: Sequence[Reading]) -> Tensor:
    """f̃(G), what the head reads: [G, (T + 1) D'] or [N, (T + 1) D']."""
    return torch.cat([reading.features for reading in readings], -1)


READOUTS: Registry[Readout] = Registry("readout")


@READOUTS.register("mean")
class MeanParticle(Readout):
    """f_t = pool_v Σ_k w_k h_v^k: the mean particle, as in the paper.

    Args:
        second_moment: read Σ_k w_k (h_v^k)² as well: what the mean particle averages away.
        others: see :class:`Readout`.
    """

    def __init__(
        self, width: int, steps: int, out_channels: int, *, second_moment: bool = False, **options: Unpack[Options]
    ) -> None:
        super().__init__(width, steps, out_channels, columns=2 * width if second_moment else width, **options)
        self.second_moment = second_moment

    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None) -> Reading:
        """f_t of a belief; see the class."""
        return Reading(self.pool(self.moments(belief, graph), graph), None)

    def moments(self, belief: Belief, graph: GraphBatch) -> Tensor:
        """The mean particle Σ_k w_k H_k, and Σ_k w_k H_k² if asked for: [N, D']."""
        H = belief.embeddings
        if H.shape[1] == 1:  # all particles equal, and the weights sum to 1
            powers = [H.squeeze(1), H.squeeze(1).square()] if self.second_moment else [H.squeeze(1)]
        else:
            powers = [H, H.square()] if self.second_moment else [H]
            powers = [average_particles(power, belief.log_weights, graph.nodes) for power in powers]
        return torch.cat(powers, -1) if len(powers) > 1 else powers[0]


@READOUTS.register("particle")
class PerParticle(Readout):
    """f_t = Σ_k w_k relu(MLP_t(pool_v relu(A_t h_v^k + a_t))): each particle is read by itself, then they are averaged.

    The mean particle loses what only single particles see; the MLP keeps it. The map A_t before the pooling keeps what
    a norm over the nodes of a graph would take from their sum.

    At node level f_t = relu(B_t o_v + b_t), where o_v is the mean of h_v^k over the particles that individualised v
    itself. If there are none, f_t = Σ_k w_k relu(MLP_t(h_v^k)). That mean over all particles fades as graphs grow, for
    most marks are then far from v. So it is read only where it must be.

    Args: see :class:`Readout`; pool is "sum" by default.
    """

    def __init__(self, width: int, steps: int, out_channels: int, **options: Unpack[Options]) -> None:
        options.setdefault("pool", "sum")
        super().__init__(width, steps, out_channels, **options)
        pooled = 0 if self.reduce is None else steps + 1
        self.nodes = nn.ModuleList(nn.Linear(width, width) for _ in range(pooled))  # A_t, a_t
        self.parts = nn.ModuleList(MLP(width, width, width) for _ in range(steps + 1))
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in range(steps if self.reduce is None else 0))  # B_t

    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None) -> Reading:
        """f_t of a belief; see the class."""
        H = belief.embeddings
        if self.reduce is not None:
            H = self.pool(self.nodes[t](H).relu(), graph)
        parts = self.parts[t](H).relu()  # [G, K, D], or [N, K, D] at node level
        if self.reduce is None:
            shared = parts.shape[1] == 1  # all particles equal
            mean = parts.squeeze(1) if shared else average_particles(parts, belief.log_weights, graph.nodes)
            if vertices is None:
                return Reading(mean, None)
            mine, found = own_particle(belief, vertices, graph)
            return Reading(torch.where(found, self.own[t - 1](mine).relu(), mean), None)
        if parts.shape[1] == 1:
            return Reading(parts.squeeze(1), parts)
        w = belief.log_weights.exp()[:, None].to(parts.dtype)  # [G, 1, K]
        return Reading((w @ parts).squeeze(1), parts)


def own_particle(belief: Belief, vertices: Tensor, graph: GraphBatch) -> tuple[Tensor, Tensor]:
    """The weighted mean of h_v^k over the particles k that individualised v, [N, D], and if there are any, [N, 1].

    Args:
        belief: of K particles.
        vertices: what they individualised, [G, K, m].
        graph: the graphs.
    """
    node = torch.arange(len(graph.batch), device=vertices.device)
    is_own = (vertices[graph.batch] == node[:, None, None]).any(-1)  # [N, K]
    w = torch.where(is_own, belief.log_weights.exp()[graph.batch], 0.0)
    total = w.sum(1, keepdim=True)
    w = (w / total.clamp(min=1e-30)).to(belief.embeddings.dtype)
    return (w[:, None] @ belief.embeddings.expand(-1, w.shape[1], -1)).squeeze(1), total > 0


@READOUTS.register("max")
class MaxParticle(Readout):
    """f_t = max_k (w_k / max_j w_j) pool_v h_v^k, entry by entry.

    The program that the paper's authors released takes this maximum, with equal weights.

    Args: see :class:`Readout`.
    """

    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None) -> Reading:
        """f_t of a belief; see the class."""
        pooled = self.pool(belief.embeddings, graph)  # [G, K, D], or [N, K, D] at node level
        if pooled.shape[1] == 1:
            return Reading(pooled.squeeze(1), None)
        w = (belief.log_weights - belief.log_weights.amax(1, keepdim=True)).exp()  # [G, K]
        if self.reduce is None:
            w = spread(w, graph.nodes)
        return Reading((w[..., None].to(pooled.dtype) * pooled).amax(1), None)
