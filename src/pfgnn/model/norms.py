"""Normalisation of node embeddings between layers: per graph and particle, batch, layer, none.

All take embeddings [N, ..., D] with the nodes first, and the graphs they belong to.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from pfgnn.kernels.batch_norm import BatchNorming, activate_batch
from pfgnn.kernels.norm import Norming, activate_graphs
from pfgnn.model.batch import GraphBatch
from pfgnn.model.numeric import bounded, largest


class Norm(nn.Module, ABC):
    """A normalisation, and what follows it in a layer."""

    @abstractmethod
    def normalise(self, h: Tensor, graph: GraphBatch) -> Tensor:
        """Normalise: h [N, ..., D] -> [N, ..., D]."""

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch) -> Tensor:
        """relu(norm(h)), plus x if it is given: [N, ..., D] -> [N, ..., D]."""
        y = self.normalise(h, graph).relu()
        return y if x is None else x + y


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

    def normalise(self, h: Tensor, graph: GraphBatch) -> Tensor:
        """Normalise; see the class."""
        return activate_graphs(h, None, self.norming(h.dtype), graph.nodes, relu=False)

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch) -> Tensor:
        """relu(norm(h)), plus x if it is given."""
        return activate_graphs(h, x, self.norming(h.dtype), graph.nodes)

    def norming(self, dtype: torch.dtype) -> Norming:
        """What it does to embeddings of a dtype, as kernels read it."""
        return Norming(self.scale, self.shift, self.mean_scale, self.eps, largest(dtype))


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

    def normalise(self, h: Tensor, graph: GraphBatch) -> Tensor:
        """Normalise; see the class."""
        return activate_batch(h, None, self._norming(h), graph.nodes, graph.padding, relu=False)

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch) -> Tensor:
        """relu(norm(h)), plus x if it is given."""
        return activate_batch(h, x, self._norming(h), graph.nodes, graph.padding)

    def _norming(self, h: Tensor) -> BatchNorming:
        if self.training and h.shape[:-1].numel() == 1:
            raise ValueError("norm='batch' needs more than one node and particle in training, but there is one")
        running = (self.scale, self.shift, self.mean, self.variance, self.momentum, self.eps)
        return BatchNorming(*running, largest(h.dtype), self.training)


class SizeNorm(BatchNorm):
    """Batch normalisation of h / √n, with n the number of nodes of a node's graph (Dwivedi et al., 2020).

    The program that the paper's authors released does so.

    Args: width: D.
    """

    def normalise(self, h: Tensor, graph: GraphBatch) -> Tensor:
        """Normalise; see the class."""
        return super().normalise(self._scaled(h, graph), graph)

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch) -> Tensor:
        """relu(norm(h)), plus x if it is given."""
        return super().forward(self._scaled(h, graph), x, graph)

    @staticmethod
    def _scaled(h: Tensor, graph: GraphBatch) -> Tensor:
        factor = graph.sizes.to(h.dtype).rsqrt()[graph.batch]
        return h * factor.view(-1, *(1,) * (h.dim() - 1))


class LayerNorm(Norm):
    """Layer normalisation of each node's embedding by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def normalise(self, h: Tensor, graph: GraphBatch) -> Tensor:
        """Normalise; see the class."""
        return self.norm(bounded(h))


class NoNorm(Norm):
    """The identity, kept finite."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def normalise(self, h: Tensor, graph: GraphBatch) -> Tensor:
        """Return h; see the class."""
        return bounded(h)


NORMS = {"graph": GraphNorm, "batch": BatchNorm, "size": SizeNorm, "layer": LayerNorm, "none": NoNorm}
