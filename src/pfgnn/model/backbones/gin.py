"""GIN (Xu et al., ICLR 2019), and GINE, which is GIN with edge features (Hu et al., ICLR 2020)."""

from dataclasses import replace
from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack, check_edge_attr
from pfgnn.model.exchange import Exchange
from pfgnn.model.mlp import MLP
from pfgnn.model.norms import BatchNorm
from pfgnn.model.particle_context import Context
from pfgnn.ops.gin import GINWeights, Particles, fits, refine_gin
from pfgnn.ops.messages import sum_messages
from pfgnn.ops.segments import sum_neighbours


class GINLayer(nn.Module):
    """h_i ← MLP((1 + ε) h_i + Σ_{j ∈ N(i)} h_j), with a learned ε.

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = MLP(width, width, width)

    def reset_parameters(self) -> None:
        """Set ε to 0. The linear maps have their own ``reset_parameters``."""
        nn.init.zeros_(self.eps)

    def collect(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """The input of the MLP, shape [N, ..., D], from x [N, ..., D]."""
        return sum_neighbours(x, 1 + self.eps, graph.sources, graph.targets)

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Apply the layer to x [N, ..., D]; see the class."""
        return self.mlp(self.collect(x, graph))

    def edge_map(self) -> tuple[Tensor, Tensor] | None:
        """Weight and bias of the map of the edge features; None without one."""
        return None


class GINELayer(GINLayer):
    """h_i ← MLP((1 + ε) h_i + Σ_{j ∈ N(i)} relu(h_j + W e_ij)), with a learned ε.

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.edge = nn.Linear(width, width)

    def collect(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """The input of the MLP, shape [N, ..., D], from x [N, ..., D] and the graph's edge_attr [E, D]."""
        edge_attr = check_edge_attr("GINE", graph.edge_attr, x.shape[-1])
        return sum_messages(x, self.edge(edge_attr), 1 + self.eps, graph.sources, graph.targets)

    def edge_map(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of W."""
        return self.edge.weight, self.edge.bias


def _particles(graph: GraphBatch, context: Context | None, exchange: nn.ModuleList | None) -> Particles | None:
    """The graphs and particles for :func:`refine_gin`; None if it cannot handle them."""
    of = Particles(graph.sources, graph.targets, graph.nodes, graph.padding)
    if exchange is None:
        return of
    assert context is not None
    if context.vertices is None or context.log_weights is None or context.vertices.shape[2] > 1:
        return None
    return replace(of, log_weights=context.log_weights.contiguous(), vertices=context.vertices[..., 0].contiguous())


@BACKBONES.register("gin")
class GIN(Stack):
    """GIN: an MLP on the sum over the neighbours (Xu et al., ICLR 2019). A stack of :class:`GINLayer`.

    Args:
        width: D.
        layers: Number of layers.
        options: Other arguments of :class:`Stack`.
    """

    layer = GINLayer

    def __init__(self, width: int, layers: int = 3, **options: Unpack[Options]) -> None:
        super().__init__(lambda: self.layer(width), width, layers, **options)

    def refine(
        self,
        x: Tensor,
        graph: GraphBatch,
        context: Context | None = None,
        exchange: nn.ModuleList | None = None,
        layers: list[Tensor] | None = None,
    ) -> Tensor:
        """Run the layers on a graph; see :meth:`Stack.refine`. On a GPU a few large kernels do it where they can."""
        of = None if layers is not None else _particles(graph, context, exchange)
        weights = None if of is None or not fits(x, of) else self._weights(x, exchange)
        if weights is None or of is None:
            return super().refine(x, graph, context, exchange, layers)
        edge_attr = None
        if self.reads_edge_attr:
            edge_attr = check_edge_attr("GINE", graph.edge_attr, self.width)
        return refine_gin(x.view(x.shape[0], -1, self.width), edge_attr, weights, of).view_as(x)

    def _weights(self, x: Tensor, exchange: nn.ModuleList | None) -> list[GINWeights] | None:
        """The parameters of all layers for :func:`refine_gin`; None if the layers have other parts than it knows."""
        if self.hidden is None or self.hidden_norms is None or not self.residual or (self.dropout and self.training):
            return None
        made = []
        for number, layer in enumerate(self.convs):
            norm, last_norm = self.norms[number], self.hidden_norms[number]
            talk, hidden = None if exchange is None else exchange[number], self.hidden[number]
            if type(norm) is not BatchNorm or type(last_norm) is not BatchNorm:
                return None
            assert isinstance(layer, GINLayer)
            assert isinstance(hidden, MLP)
            assert talk is None or isinstance(talk, Exchange)
            made.append(
                GINWeights(
                    layer.eps,
                    layer.mlp.maps(),
                    norm.norming(x),
                    hidden.maps(),
                    last_norm.norming(x),
                    layer.edge_map(),
                    None if talk is None or talk.of_mean is None else talk.of_mean.maps(),
                    None if talk is None or talk.of_mark is None else talk.of_mark.maps(),
                )
            )
        return made


@BACKBONES.register("gine")
class GINE(GIN):
    """GINE: GIN with edge features, which it needs (Hu et al., ICLR 2020). A stack of :class:`GINELayer`.

    Args:
        width: D.
        layers: Number of layers.
        options: Other arguments of :class:`Stack`.
    """

    layer = GINELayer
    reads_edge_attr = True
    edge_features = "needed"
