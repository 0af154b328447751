"""PNA (Corso et al., NeurIPS 2020)."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.arguments import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack, check_edge_attr
from pfgnn.model.context import Context
from pfgnn.model.norms import GraphNorm
from pfgnn.ops.pna import After, Weights, pna


class PNALayer(nn.Module):
    """Four aggregators times three degree scalers, in towers that divide the width among them.

    Each tower: message m_ij = A h_j + B h_i + C e_ij (the pre-network is one linear map, so nodes are transformed, not
    edges); a_i = [mean, min, max, std]_j m_ij; s_i = [a_i, a_i log(d_i + 1) / δ, a_i δ / log(d_i + 1)];
    u_i = U [h_i, s_i]. Then h_i ← V u_i of all towers. δ = mean of log(d + 1) over the training set's nodes. See
    :func:`pfgnn.ops.pna.pna`.
    """

    def __init__(self, width: int, towers: int, mean_log_degree: float, edges: bool) -> None:
        super().__init__()
        if width % check_positive("towers", towers):
            raise InputError(f"towers must divide the width {width}, but towers is {towers}")
        if not mean_log_degree > 0:
            raise InputError(f"mean_log_degree must be positive, but it is {mean_log_degree}")
        F = width // towers
        self.width, self.mean_log_degree = width, mean_log_degree
        self.pre = nn.Parameter(torch.empty(towers, 3 * F, F))  # A, B and U's part for h_i
        self.pre_bias = nn.Parameter(torch.empty(towers, 2 * F))  # of B and U
        self.from_edge = nn.Linear(width, width, bias=False) if edges else None  # C of all towers
        self.post = nn.Parameter(torch.empty(towers, 4 * F, 3 * F))  # U, each scaler's side by side
        self.mix = nn.Linear(width, width)  # V
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the maps as nn.Linear does, A and B as one of 2 F inputs, U as one of 13 F; V and C reset themselves."""
        F = self.pre.shape[2]
        for part, inputs in (
            (self.pre[:, : 2 * F], 2 * F),
            (self.pre_bias[:, :F], 2 * F),
            (self.pre[:, 2 * F :], 13 * F),
            (self.pre_bias[:, F:], 13 * F),
            (self.post, 13 * F),
        ):
            nn.init.uniform_(part, -(inputs**-0.5), inputs**-0.5)

    def forward(self, x: Tensor, graph: GraphBatch, after: After | None = None) -> Tensor:
        """x [N, ..., D] -> [N, ..., D], with what comes ``after``; the graph's edge_attr is [E, D] if it has edges."""
        edge_attr = from_edge = None
        if self.from_edge is not None:
            edge_attr, from_edge = check_edge_attr("PNA", graph.edge_attr, self.width), self.from_edge.weight
        weights = Weights(self.pre, self.pre_bias, from_edge, self.post, self.mix.weight, self.mix.bias)
        particles = x.view(len(x), -1, self.width)  # [N, K, D]
        delta = self.mean_log_degree
        return pna(particles, edge_attr, weights, delta, graph.sources, graph.targets, after).view_as(x)


@BACKBONES.register("pna")
class PNA(Stack):
    """A stack of :class:`PNALayer`.

    Args: width; layers; towers: which divide the width; mean_log_degree: δ of the training set (see
    :func:`mean_log_degree`); edges: whether edge features are read; others as in :class:`Stack`.
    """

    edge_features = "optional"

    def __init__(
        self,
        width: int,
        layers: int = 3,
        towers: int = 1,
        mean_log_degree: float = 1.0,
        edges: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(lambda: PNALayer(width, towers, mean_log_degree, edges), width, layers, **options)
        self.reads_edge_attr = edges

    def layer_output(
        self,
        x: Tensor,
        conv: nn.Module,
        norm: nn.Module,
        graph: GraphBatch,
        context: Context | None,
        exchange: nn.Module | None,
        near: Tensor | None,
        number: int,
    ) -> Tensor:
        """One layer with its norm, at once where that is the graph's and nothing stands between them."""
        if isinstance(norm, GraphNorm) and near is None and exchange is None and not (self.dropout and self.training):
            return conv(x, graph, After(norm.norming(x.dtype), graph.nodes, self.residual))
        return super().layer_output(x, conv, norm, graph, context, exchange, near, number)


def mean_log_degree(degrees: Tensor) -> float:
    """PNA's δ: the mean of log(d + 1) over all nodes' in-degrees [N] of the training set."""
    return float((degrees.double() + 1).log().mean())
