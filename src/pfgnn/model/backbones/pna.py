"""PNA (Corso et al., NeurIPS 2020)."""

import torch
from torch import Tensor, nn

from pfgnn.kernels.pna import Weights, pna
from pfgnn.model.backbones.stack import Stack, check_edge_attr
from pfgnn.model.batch import GraphBatch
from pfgnn.model.numeric import check_positive


class PNALayer(nn.Module):
    """Four aggregators times three degree scalers, in towers.

    message m_ij = A h_j + B h_i + C e_ij (the pre-network is one linear map, so nodes are transformed, not
    edges); a_i = [mean, min, max, std]_j m_ij; s_i = [a_i, a_i log(d_i + 1) / δ, a_i δ / log(d_i + 1)];
    h_i ← V (U [h_i, s_i]), U one map per tower, V mixing the towers. δ = mean of log(d + 1) over the
    training set's nodes. See :func:`pfgnn.kernels.pna.pna`.
    """

    def __init__(self, width: int, towers: int, mean_log_degree: float, edges: bool) -> None:
        super().__init__()
        if width % check_positive("towers", towers):
            raise ValueError(f"towers must divide the width {width}, but towers is {towers}")
        if not mean_log_degree > 0:
            raise ValueError(f"mean_log_degree must be positive, but it is {mean_log_degree}")
        self.width, self.towers = width, towers
        self.mean_log_degree = mean_log_degree
        self.pre = nn.Parameter(torch.empty((2 * towers + 1) * width, width))  # A, B and U's part for h_i
        self.pre_bias = nn.Parameter(torch.empty((towers + 1) * width))  # of B and U
        self.from_edge = nn.Linear(width, towers * width, bias=False) if edges else None  # C
        self.post = nn.Parameter(torch.empty(towers, 4 * width, 3 * width // towers))  # U, each scaler's side by side
        self.mix = nn.Linear(width, width)  # V
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the maps as nn.Linear does, U as one of 13 widths; the linear maps reset themselves."""
        D = self.width
        for part, inputs in ((self.pre[:-D], D), (self.pre_bias[:-D], D), (self.pre[-D:], 13 * D)):
            nn.init.uniform_(part, -(inputs**-0.5), inputs**-0.5)
        for part in (self.pre_bias[-D:], self.post):
            nn.init.uniform_(part, -((13 * D) ** -0.5), (13 * D) ** -0.5)

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """x [N, ..., D] -> [N, ..., D]; the graph's edge_attr is [E, D] if built with edges."""
        edge_attr = from_edge = None
        if self.from_edge is not None:
            edge_attr, from_edge = check_edge_attr("PNA", graph.edge_attr, self.width), self.from_edge.weight
        weights = Weights(self.pre, self.pre_bias, from_edge, self.post, self.mix.weight, self.mix.bias)
        particles = x.view(len(x), -1, self.width)  # [N, K, D]
        return pna(particles, edge_attr, weights, self.mean_log_degree, graph.sources, graph.targets).view_as(x)


class PNA(Stack):
    """A stack of :class:`PNALayer`.

    Args: width; layers; towers; mean_log_degree: δ of the training set (see :func:`mean_log_degree`);
    edges: whether edge features are read; norm, residual as in :class:`Stack`.
    """

    def __init__(
        self,
        width: int,
        layers: int = 3,
        towers: int = 1,
        mean_log_degree: float = 1.0,
        edges: bool = False,
        norm: str = "graph",
        residual: bool = True,
    ) -> None:
        super().__init__(lambda: PNALayer(width, towers, mean_log_degree, edges), width, layers, norm, residual)
        self.reads_edge_attr = edges


def mean_log_degree(degrees: Tensor) -> float:
    """PNA's δ: the mean of log(d + 1) over all nodes' in-degrees [N] of the training set."""
    return float((degrees.double() + 1).log().mean())
