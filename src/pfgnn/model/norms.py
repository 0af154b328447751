"""Normalisation of node embeddings between layers.

All norms take embeddings [N, ..., D], with the nodes on the first axis, and the batch of graphs. An optional argument
``near`` [N, K] gives each node a weight in the means of the norm. :class:`MarkNorm` computes these weights, and
:class:`GraphNorm` uses them. The other norms ignore them.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.clamp import bounded, largest
from pfgnn.ops.batch_norm import BatchNorming, activate_batch
from pfgnn.ops.distance import distances
from pfgnn.ops.graph_norm import Norming, activate_graphs
from pfgnn.ops.segments import segment_sum, spread
from pfgnn.registry import Registry


class Norm(nn.Module, ABC):
    """Base class: a normalisation, and the activation and residual that follow it in a layer."""

    @abstractmethod
    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Return norm(h).

        Args:
            h: Embeddings, shape [N, ..., D].
            graph: The batch of graphs.
            near: Weight of each node in the means, shape [N, K].

        Returns:
            The normalised embeddings, same shape as h.
        """

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Return relu(norm(h)), plus the residual x if it is given.

        Args:
            h: Embeddings, shape [N, ..., D].
            x: Residual to add, same shape as h, or None.
            graph: The batch of graphs.
            near: Weight of each node in the means, shape [N, K].

        Returns:
            The result, same shape as h.
        """
        y = self.normalise(h, graph, near).relu()
        return y if x is None else x + y


NORMS: Registry[Norm] = Registry("norm")


@NORMS.register("graph")
class GraphNorm(Norm):
    """y = γ (h - α μ) / √(mean (h - α μ)² + ε) + β, with μ and mean over the nodes of each graph and particle.

    Cai et al., ICML 2021. It has no running statistics, so training and evaluation give the same result. On a regular
    graph all nodes may be equal, and then the variance is zero. ε is large for this case: a tiny ε would amplify
    rounding errors until they look like differences between colours.

    Args:
        width: D.
        eps: ε.
    """

    def __init__(self, width: int, eps: float = 1e-2) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.mean_scale = nn.Parameter(torch.ones(width))

    def reset_parameters(self) -> None:
        """Reset to γ = α = 1 and β = 0."""
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
        """The parameters of this norm for embeddings of a dtype, in the form that the ops take."""
        return Norming(self.scale, self.shift, self.mean_scale, self.eps, largest(dtype))


@NORMS.register("mark")
class MarkNorm(GraphNorm):
    """:class:`GraphNorm` in which nodes far from the individualised vertex have a small weight in μ and mean.

    In a large graph most nodes are far from the individualised vertex, in a small one few are. So a mean over all nodes
    changes with the size of the graph. Here each node at most 2 edges away has weight 1. Each other node has weight
    w = min(1, near / (4 far)), where near and far are the numbers of nodes of both kinds. So the far nodes together
    have at most a quarter of the weight of the near ones. They must have some weight: if the individualised vertex is
    isolated, it is the only near node, and there is no variance. Before the first individualisation all nodes have
    weight 1.
    """

    radius = 2  # up to this distance a node is near

    def weights(self, vertices: Tensor, graph: GraphBatch) -> Tensor:
        """The weight of each node for each particle, shape [N, K].

        Args:
            vertices: The vertices that the particles individualised, shape [G, K, m].
            graph: The batch of graphs.
        """
        valid = torch.ones_like(vertices, dtype=torch.bool)
        near = (
            distances(vertices, valid, self.radius, graph.sources, graph.targets, graph.nodes) <= self.radius
        )  # [N, K]
        count = segment_sum(near.float(), graph.nodes)  # [G, K]
        far = (graph.sizes[:, None] - count).clamp(min=1)
        return torch.where(near, 1.0, spread((count / (4 * far)).clamp(max=1), graph.nodes))


@NORMS.register("batch")
class BatchNorm(Norm):
    """y = γ (h - μ) / √(σ² + ε) + β, with μ and σ² over all nodes, graphs and particles of the batch.

    In evaluation, μ and σ² are running means over the training batches.

    There are two differences from nn.BatchNorm1d. Graphs that only pad the batch do not count. And ε is large: on
    regular graphs all nodes are equal before the first individualisation, so σ² = 0, and a tiny ε would amplify the
    error of the running means.

    If graphs differ very little, as strongly regular ones do, training and evaluation agree only when the weights no
    longer change. So let the learning rate end at 0. ``pfgnn.testing.assert_train_eval_agree`` tests this. With several
    devices, each one uses the statistics of its own part of the batch.

    Args:
        width: D.
        momentum: Momentum of the running means.
        eps: ε.
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
        """Reset to γ = 1 and β = 0, and the running means to μ = 0 and σ² = 1."""
        for one in (self.scale, self.variance):
            nn.init.ones_(one)
        for zero in (self.shift, self.mean):
            nn.init.zeros_(zero)

    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Normalise; see the class."""
        return activate_batch(h, None, self.norming(h), graph.nodes, graph.padding, relu=False)

    def forward(self, h: Tensor, x: Tensor | None, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """relu(norm(h)), plus x if it is given."""
        return activate_batch(h, x, self.norming(h), graph.nodes, graph.padding)

    def norming(self, h: Tensor) -> BatchNorming:
        """The parameters of this norm for embeddings h [N, ..., D], in the form that the ops take."""
        if self.training and h.shape[:-1].numel() == 1:
            raise InputError("norm='batch' needs more than one node and particle in training, but there is one")
        running = (self.scale, self.shift, self.mean, self.variance, self.momentum, self.eps)
        return BatchNorming(*running, largest(h.dtype), self.training)


@NORMS.register("size")
class SizeNorm(BatchNorm):
    """Batch normalisation of h / √n, where n is the number of nodes of the graph (Dwivedi et al., 2020).

    The code released by the paper's authors uses this norm.

    Args:
        width: D.
        momentum: Momentum of the running means.
        eps: ε.
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
    """Layer normalisation: each embedding is normalised over its D features."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Normalise; see the class."""
        return self.norm(bounded(h))


@NORMS.register("none")
class NoNorm(Norm):
    """No normalisation. Values are only clamped to stay finite; see :func:`pfgnn.model.clamp.bounded`."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def normalise(self, h: Tensor, graph: GraphBatch, near: Tensor | None = None) -> Tensor:
        """Return h, clamped; see the class."""
        return bounded(h)
