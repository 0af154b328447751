"""GIN (Xu et al., ICLR 2019), and GINE, which is GIN with edge features (Hu et al., ICLR 2020)."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack, check_edge_attr
from pfgnn.model.mlp import MLP
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
