"""Normalisation of node embeddings between layers: per graph and particle, around a mark, batch, layer, none.

All take embeddings [N, ..., D] with the nodes first, and the graphs they belong to. Where particles have individualised
a vertex, they may take the weights of the nodes in a mean around it, near [N, K].
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.numeric import bounded, largest
from pfgnn.ops.batch_norm import BatchNorming, activate_batch
from pfgnn.ops.distance import distances
from pfgnn.ops.norm import Norming, activate_graphs
from pfgnn.ops.segments import segment_sum, spread
from pfgnn.registry import Registry


class Norm(nn.Module, ABC):
    """A normalisation, and what follows it in a layer."""

    @abstractmethod
    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Normalise: h [N, ..., D] -> [N, ..., D]."""

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """relu(norm(h)), plus x if it is given: [N, ..., D] -> [N, ..., D]."""
        y = self.normalise(h, graph, near).relu()
        return y if x is None else x + y


NORMS: Registry[Norm] = Registry("norm")


@NORMS.register("graph")
class GraphNorm(Norm):
    """y = γ (h - α μ) / √(mean (h - α μ)² + ε) + β, μ and mean over the nodes of each graph and particle.

    Cai et al., ICML 2021. It keeps no running statistics, so training and evaluation agree, on regular graphs
    too, where all nodes are equal and the variance is exactly zero; ε is large for that case: with a tiny one
    rounding errors would be blown up to the size of colours.

    Args: width: D.  eps: ε.
    Shapes: h [N, ..., D] -> [N, ..., D].
    """

    def __init__(self, width: int, eps: float = 1e-2) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.mean_scale = nn.Parameter(torch.ones(width))

    def reset_parameters(self) -> None:
        """Back to γ = α = 1, β = 0."""
        nn.init.ones_(self.scale)
        nn.init.zeros_(self.shift)
        nn.init.ones_(self.mean_scale)

    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Normalise; see the class."""
        return activate_graphs(h, None, self.norming(h.dtype), graph.nodes, False, near)

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """relu(norm(h)), plus x if it is given."""
        return activate_graphs(h, x, self.norming(h.dtype), graph.nodes, near=near)

    def norming(self, dtype: torch.dtype) -> Norming:
        """What it does to embeddings of a dtype, as kernels read it."""
        return Norming(self.scale, self.shift, self.mean_scale, self.eps, largest(dtype))


@NORMS.register("mark")
class MarkNorm(GraphNorm):
    """As :class:`GraphNorm`, but in μ and mean the nodes far from the individualised vertex count little.

    In a large graph most nodes are far from the mark, in a small one few are. So a mean over all nodes changes with the
    size of the graph. Here the nodes at most 2 edges away from the mark count 1 each, and all others together at most a
    quarter of these: w = min(1, near / (4 far)). The others must count: around an isolated mark there is no variance.
    Before the first individualisation all nodes count 1.
    """

    radius = 2

    def weights(self, vertices: Tensor, graph: GraphBatch) -> Tensor:
        """The weights of all nodes, [N, K], for the vertices that the particles individualised, [G, K, m]."""
        valid = torch.ones_like(vertices, dtype=torch.bool)
        near = distances(vertices, valid, self.radius, graph.sources, graph.targets) <= self.radius  # [N, K]
        count = segment_sum(near.float(), graph.nodes)  # [G, K]
        far = (graph.sizes[:, None] - count).clamp(min=1)
        return torch.where(near, 1.0, spread((count / (4 * far)).clamp(max=1), graph.nodes))


@NORMS.register("batch")
class BatchNorm(Norm):
    """y = γ (h - μ) / √(σ² + ε) + β, μ and σ² over all nodes, graphs and particles; in evaluation their running means.

    nn.BatchNorm1d but that it leaves out graphs that only fill up the batch, and has a large ε. On regular graphs all
    nodes are equal before the first individualisation. Then σ² = 0, and a tiny ε would blow up by how much the running
    means lag behind. Where graphs differ by very little, as strongly regular ones do, training and evaluation agree
    only once the weights rest. So let the learning rate end at 0. See ``pfgnn.testing.assert_train_eval_agree``. On
    several devices each one has the numbers of its own share of the batch.

    Args: width: D.  momentum: of the running means.  eps: ε.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, width: int, momentum: float = 0.1, eps: float = 1e-2) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def reset_parameters(self) -> None:
        """Back to γ = 1, β = 0 and nothing seen."""
        for one in (self.scale, self.variance):
            nn.init.ones_(one)
        for zero in (self.shift, self.mean):
            nn.init.zeros_(zero)

    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Normalise; see the class."""
        return activate_batch(h, None, self._norming(h), graph.nodes, graph.padding, relu=False)

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """relu(norm(h)), plus x if it is given."""
        return activate_batch(h, x, self._norming(h), graph.nodes, graph.padding)

    def _norming(self, h: Tensor) -> BatchNorming:
        if self.training and h.shape[:-1].numel() == 1:
            raise InputError("norm='batch' needs more than one node and particle in training, but there is one")
        running = (self.scale, self.shift, self.mean, self.variance, self.momentum, self.eps)
        return BatchNorming(*running, largest(h.dtype), self.training)


@NORMS.register("size")
class SizeNorm(BatchNorm):
    """Batch normalisation of h / √n, with n the number of nodes of a node's graph (Dwivedi et al., 2020).

    The program that the paper's authors released does so.

    Args: width: D.
    """

    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Normalise; see the class."""
        return super().normalise(self._scaled(h, graph), graph, near)

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """relu(norm(h)), plus x if it is given."""
        return super().forward(self._scaled(h, graph), x, graph, near)

    @staticmethod
    def _scaled(h: Tensor, graph: GraphBatch) -> Tensor:
        factor = graph.sizes.to(h.dtype).rsqrt()[graph.batch]
        return h * factor.view(-1, *(1,) * (h.dim() - 1))


@NORMS.register("layer")
class LayerNorm(Norm):
    """Layer normalisation of each node's embedding by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Normalise; see the class."""
        return self.norm(bounded(h))


@NORMS.register("none")
class NoNorm(Norm):
    """The identity, kept finite."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Return h; see the class."""
        return bounded(h)
