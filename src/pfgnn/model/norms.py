"""Normalisation of node embeddings between layers: per graph and particle, batch, layer, none.

All take embeddings [N, ..., D] with the nodes first, and the nodes of each graph.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from pfgnn.kernels.norm import activate_graphs, normalise_graphs
from pfgnn.kernels.segments import Segments
from pfgnn.model.numeric import bounded, largest


class Norm(nn.Module, ABC):
    """A normalisation, and what follows it in a layer."""

    @abstractmethod
    def normalise(self, h: Tensor, nodes: Segments) -> Tensor:
        """Normalise: h [N, ..., D] -> [N, ..., D]."""

    def forward(self, h: Tensor, x: Tensor | None, nodes: Segments) -> Tensor:
        """relu(norm(h)), plus x if it is given: [N, ..., D] -> [N, ..., D]."""
        y = self.normalise(h, nodes).relu()
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

    def normalise(self, h: Tensor, nodes: Segments) -> Tensor:
        """Normalise; see the class."""
        return normalise_graphs(h, self.scale, self.shift, self.mean_scale, self.eps, largest(h.dtype), nodes)

    def forward(self, h: Tensor, x: Tensor | None, nodes: Segments) -> Tensor:
        """relu(norm(h)), plus x if it is given."""
        return activate_graphs(h, x, self.scale, self.shift, self.mean_scale, self.eps, largest(h.dtype), nodes)


class BatchNorm(Norm):
    """Batch normalisation over all nodes, graphs and particles, with running statistics.

    On regular graphs these statistics are worthless (all nodes are equal before the first individualisation):
    training and evaluation then disagree. Here for comparison; see ``pfgnn.testing.assert_train_eval_agree``.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def normalise(self, h: Tensor, nodes: Segments) -> Tensor:
        """Normalise; see the class."""
        rows = bounded(h).reshape(-1, h.shape[-1])
        if self.training and len(rows) == 1:
            raise ValueError("norm='batch' needs more than one node and particle in training, but there is one")
        return self.norm(rows).view_as(h)


class LayerNorm(Norm):
    """Layer normalisation of each node's embedding by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def normalise(self, h: Tensor, nodes: Segments) -> Tensor:
        """Normalise; see the class."""
        return self.norm(bounded(h))


class NoNorm(Norm):
    """The identity, kept finite."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def normalise(self, h: Tensor, nodes: Segments) -> Tensor:
        """Return h; see the class."""
        return bounded(h)


NORMS = {"graph": GraphNorm, "batch": BatchNorm, "layer": LayerNorm, "none": NoNorm}
