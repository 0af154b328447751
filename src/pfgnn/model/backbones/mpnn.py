"""MPNN: an edge network and a GRU (Gilmer et al., ICML 2017)."""

from typing import Unpack

from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack, check_edge_attr
from pfgnn.ops.segments import segment_mean, spread
from pfgnn.setting_types import MOST_WIDTH


class MPNNLayer(nn.Module):
    """h_i ← GRU(relu(R h_i + mean_{j ∈ N(i)} A(e_ij) h_j + b), h_i).

    A is a network that maps an edge embedding to a D × D matrix.

    Args:
        width: D.
        edge_hidden: Hidden width of A.
    """

    def __init__(self, width: int, edge_hidden: int) -> None:
        super().__init__()
        self.width, edge_hidden = width, check_positive("edge_hidden", edge_hidden, most=MOST_WIDTH)
        self.edge_network = nn.Sequential(
            nn.Linear(width, edge_hidden), nn.ReLU(), nn.Linear(edge_hidden, width * width)
        )
        self.root = nn.Linear(width, width)  # R and b
        self.gru = nn.GRUCell(width, width)

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Apply the layer to x [N, ..., D]. The graph's edge_attr has shape [E, D]."""
        matrix = self.edge_network(check_edge_attr("MPNN", graph.edge_attr, self.width))
        matrix = matrix.view(-1, self.width, self.width)  # [E, D, D]
        h = x.view(x.shape[0], -1, self.width)  # [N, K, D], K = 1 without a particle axis
        message = segment_mean(spread(h, graph.sources) @ matrix, graph.targets).view_as(x)
        m = (self.root(x) + message).relu()
        return self.gru(m.reshape(-1, self.width), x.reshape(-1, self.width)).view_as(x)


@BACKBONES.register("mpnn")
class MPNN(Stack):
    """MPNN: an edge network and a GRU (Gilmer et al., ICML 2017). A stack of :class:`MPNNLayer`. Needs edge features.

    Args:
        width: D.
        layers: Number of layers.
        edge_hidden: Hidden width of the edge network A.
        options: Other arguments of :class:`Stack`.
    """

    reads_edge_attr = True
    edge_features = "needed"

    def __init__(self, width: int, layers: int = 3, edge_hidden: int = 128, **options: Unpack[Options]) -> None:
        super().__init__(lambda: MPNNLayer(width, edge_hidden), width, layers, **options)
