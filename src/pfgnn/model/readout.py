"""Readout: predicts for each graph or each node from the beliefs of all steps (lines 15 and 16)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_flag, check_number, check_positive, choose
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.belief import Belief
from pfgnn.model.chunks import Chunks
from pfgnn.model.mlp import MLP
from pfgnn.ops.particles import average_particles
from pfgnn.ops.segments import segment_max, segment_mean, segment_sum, spread
from pfgnn.registry import Registry
from pfgnn.setting_types import MOST_CHANNELS, MOST_LAYERS, MOST_WIDTH

POOLS = {"sum": segment_sum, "mean": segment_mean, "max": segment_max}


class Reading(NamedTuple):
    """The features read from the belief of one step.

    Fields:
        features: f_t, shape [G, D'], or [N, D'] at node level.
        parts: The feature of each particle, so that f_t = Σ_k w_k parts_k, shape [G, K, D']. Only
            :class:`PerParticle` at graph level gives them; otherwise None.
    """

    features: Tensor
    parts: Tensor | None


class Options(TypedDict, total=False):
    """The keyword arguments of :class:`Readout` that all readouts take."""

    level: str
    pool: str
    scale: float
    join: Sequence[int]


class Readout(nn.Module, ABC):
    """y = MLP(CONCAT_t f_t). Subclasses define how f_t is computed from the belief of step t.

    Args:
        width: D.
        steps: T. The colouring before the first individualisation, t = 0, is read too.
        out_channels: C.
        level: "graph" for one prediction per graph, "node" for one per node.
        pool: Pooling over the nodes of a graph: "sum", "mean" or "max".
        scale: Factor of the pooled values. With sums, 1 / (mean number of nodes) keeps them near 1.
        join: Number of layers of each refinement 0 to T. If given, f_t uses the outputs of all layers of refinement t,
            concatenated and mapped to width D. Otherwise it uses only the last layer.
        columns: D', the number of features in f_t. By default D.
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
        self.width = check_positive("width", width, most=MOST_WIDTH)
        self.steps = check_positive("steps", steps, least=0, most=MOST_LAYERS)
        reduce = choose("pool", pool, POOLS)
        self.reduce = reduce if choose("level", level, {"graph": True, "node": False}) else None
        self.scale = check_number("scale", scale)
        if not isinstance(join, Sequence) or isinstance(join, str):
            raise InputTypeError(f"join must be a sequence of ints, but it is {join!r}")
        if join and len(join) != steps + 1:
            raise InputError(
                f"join must have an entry for each of the {steps + 1} refinements, but it has {len(join)} entries"
            )
        self.join = nn.ModuleList(
            nn.Linear(check_positive("join", layers, most=MOST_LAYERS) * width, width) for layers in join
        )
        C = check_positive("out_channels", out_channels, most=MOST_CHANNELS)
        columns = check_positive("columns", width if columns is None else columns, most=MOST_CHANNELS)
        self.head: nn.Module = MLP((steps + 1) * columns, width, C)

    def read(
        self,
        t: int,
        belief: Belief,
        graph: GraphBatch,
        layers: Sequence[Tensor] = (),
        vertices: Tensor | None = None,
        chunks: Chunks | None = None,
    ) -> Reading:
        """Read the belief of step t.

        Args:
            t: The step.
            belief: Belief of the step.
            graph: The batch of graphs.
            layers: Outputs of the refinement's layers, shape [N, K, D] each. Needed only with ``join``.
            vertices: The vertices that the particles individualised in the step, shape [G, K, m]. None for t = 0.
            chunks: The particles that are read at a time. None for all at once.
        """
        if chunks is None:
            chunks = Chunks(belief.embeddings.shape[1], belief.embeddings.shape[1])
        if self.join:
            [H] = chunks.run(self._joined, layers, t)
            belief = belief._replace(embeddings=H)
        return self.summarise(t, belief, graph, vertices, chunks)

    def _joined(self, part: slice, *layers_and_step: Any) -> tuple[Tensor]:
        """The outputs of all layers, shape [N, k, D] each, as one of shape [N, k, D]."""
        *layers, t = layers_and_step
        return (self.join[t](torch.cat(layers, -1)),)

    @abstractmethod
    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None, chunks: Chunks) -> Reading:
        """Compute f_t from the belief of step t; arguments as in :meth:`read`."""

    def pool(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """Pool H [N, ...] over the nodes of each graph to [G, ...]. At node level, return H unchanged."""
        if self.reduce is None:
            return H
        pooled = self.reduce(H.contiguous(), graph.nodes)
        return pooled if self.scale == 1 else pooled * self.scale

    def forward(self, readings: Sequence[Reading]) -> Tensor:
        """Predict from the readings of steps 0 to T. The shape is [G, C], or [N, C] at node level."""
        return self.head(embedding(readings))

    def without_each(self, readings: Sequence[Reading], weights: Sequence[Tensor]) -> Tensor:
        """Predict with one particle of one step left out, for every particle and every step.

        If particle k is left out, the others get its weight: f_t becomes Σ_{j ≠ k} w_j parts_j / (1 - w_k).

        Args:
            readings: Readings of steps 0 to T.
            weights: w of steps 1 to T, shape [G, K] each.

        Returns:
            The predictions, shape [T, G, K + 1, C]. Entry k < K is without particle k, entry K is with all particles.
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
            # Not a matrix product, which could be computed in low precision.
            left = (kept[..., None] * parts.float()[:, None]).sum(2)  # [G, K + 1, D']
            rest = [f[:, None].expand_as(left) for f in features]
            changed.append(torch.cat([*rest[:t], left, *rest[t + 1 :]], -1))
        return self.head(torch.stack(changed).to(next(self.head.parameters()).dtype))


def embedding(readings: Sequence[Reading]) -> Tensor:
    """f̃(G) = CONCAT_t f_t, the input of the head, shape [G, (T + 1) D'], or [N, (T + 1) D'] at node level."""
    return torch.cat([reading.features for reading in readings], -1)


READOUTS: Registry[Readout] = Registry("readout")


@READOUTS.register("mean")
class MeanParticle(Readout):
    """f_t = pool_v Σ_k w_k h_v^k: reads the mean particle, as in the paper.

    Args:
        width: D.
        steps: T.
        out_channels: C.
        second_moment: Whether to read Σ_k w_k (h_v^k)² as well. It shows differences between particles, which the mean
            does not.
        options: Other arguments of :class:`Readout`.
    """

    def __init__(
        self, width: int, steps: int, out_channels: int, *, second_moment: bool = False, **options: Unpack[Options]
    ) -> None:
        width = check_positive("width", width, most=MOST_WIDTH)
        columns = 2 * width if check_flag("second_moment", second_moment) else width
        super().__init__(width, steps, out_channels, columns=columns, **options)
        self.second_moment = second_moment

    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None, chunks: Chunks) -> Reading:
        """Compute f_t; see the class."""
        return Reading(self.pool(self.moments(belief, graph), graph), None)

    def moments(self, belief: Belief, graph: GraphBatch) -> Tensor:
        """The mean particle Σ_k w_k H_k, and with ``second_moment`` also Σ_k w_k H_k², shape [N, D']."""
        H = belief.embeddings
        if H.shape[1] == 1:  # all particles are equal, and the weights sum to 1
            powers = [H.squeeze(1), H.squeeze(1).square()] if self.second_moment else [H.squeeze(1)]
        else:
            powers = [H, H.square()] if self.second_moment else [H]
            powers = [average_particles(power, belief.log_weights, graph.nodes) for power in powers]
        return torch.cat(powers, -1) if len(powers) > 1 else powers[0]


@READOUTS.register("max")
class MaxParticle(Readout):
    """f_t = max_k (w_k / max_j w_j) pool_v h_v^k, an elementwise maximum.

    The code released by the paper's authors takes this maximum, with equal weights. The arguments are those of
    :class:`Readout`.
    """

    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None, chunks: Chunks) -> Reading:
        """Compute f_t; see the class."""
        pooled = self.pool(belief.embeddings, graph)  # [G, K, D], or [N, K, D] at node level
        if pooled.shape[1] == 1:
            return Reading(pooled.squeeze(1), None)
        w = (belief.log_weights - belief.log_weights.amax(1, keepdim=True)).exp()  # [G, K]
        if self.reduce is None:
            w = spread(w, graph.nodes)
        return Reading((w[..., None].to(pooled.dtype) * pooled).amax(1), None)
