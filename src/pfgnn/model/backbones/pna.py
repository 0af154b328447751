"""PNA (Corso et al., NeurIPS 2020)."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_flag, check_number, check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack, check_edge_attr
from pfgnn.model.norms import GraphNorm
from pfgnn.model.particle_context import Context
from pfgnn.ops.pna import After, Weights, pna
from pfgnn.setting_types import MOST_WIDTH


class PNALayer(nn.Module):
    """Four aggregators times three degree scalers, in T towers. Each tower has F = D / T of the features.

    For each tower:

    - message m_ij = A h_j + B h_i + C e_ij. This is linear, so A and B are applied to nodes and not to edges.
    - a_i = [mean, min, max, std]_j m_ij
    - s_i = [a_i, a_i log(d_i + 1) / δ, a_i δ / log(d_i + 1)], where d_i is the in-degree of i, at least 1
    - u_i = U [h_i, s_i]

    Then h_i ← V u_i, with the u_i of all towers concatenated. See :func:`pfgnn.ops.pna.pna`.

    Args:
        width: D.
        towers: T, the number of towers. It must divide D.
        mean_log_degree: δ, the mean of log(d + 1) over the nodes of the training set.
        edges: Whether to read edge features. Without them there is no term C e_ij.
    """

    def __init__(self, width: int, towers: int, mean_log_degree: float, edges: bool) -> None:
        super().__init__()
        if width % check_positive("towers", towers, most=MOST_WIDTH):
            raise InputError(f"towers must divide the width {width}, but towers is {towers}")
        if not check_number("mean_log_degree", mean_log_degree) > 0:
            raise InputError(f"mean_log_degree must be positive, but it is {mean_log_degree}")
        F = width // towers
        self.width, self.mean_log_degree = width, mean_log_degree
        self.pre = nn.Parameter(torch.empty(towers, 3 * F, F))  # A, B and the part of U for h_i
        self.pre_bias = nn.Parameter(torch.empty(towers, 2 * F))  # biases of B and U
        self.from_edge = nn.Linear(width, width, bias=False) if check_flag("edges", edges) else None  # C of all towers
        self.post = nn.Parameter(torch.empty(towers, 4 * F, 3 * F))  # the parts of U for the three scalers
        self.mix = nn.Linear(width, width)  # V
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the maps as nn.Linear does: A and B as one map of 2 F inputs, U as one of 13 F inputs.

        V and C have their own ``reset_parameters``.
        """
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
        """Apply the layer.

        Args:
            x: Embeddings, shape [N, ..., D].
            graph: The batch of graphs. With ``edges``, its edge_attr has shape [E, D].
            after: The norm, activation and residual to apply to the result, or None.

        Returns:
            The new embeddings, shape [N, ..., D].
        """
        edge_attr = from_edge = None
        if self.from_edge is not None:
            edge_attr, from_edge = check_edge_attr("PNA", graph.edge_attr, self.width), self.from_edge.weight
        weights = Weights(self.pre, self.pre_bias, from_edge, self.post, self.mix.weight, self.mix.bias)
        particles = x.view(x.shape[0], -1, self.width)  # [N, K, D]
        delta = self.mean_log_degree
        return pna(particles, edge_attr, weights, delta, graph.sources, graph.targets, after).view_as(x)


@BACKBONES.register("pna")
class PNA(Stack):
    """PNA: several aggregations, scaled by degrees (Corso et al., NeurIPS 2020). A stack of :class:`PNALayer`.

    Args:
        width: D.
        layers: Number of layers.
        towers: Number of towers. It must divide D.
        mean_log_degree: δ of the training set; see the function :func:`mean_log_degree`.
        edges: Whether to read edge features.
        options: Other arguments of :class:`Stack`.
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
        """One layer with its norm, dropout and residual; see :meth:`Stack.layer_output`.

        Layer and norm are computed by one function if the norm is a GraphNorm and nothing comes between them.
        """
        if isinstance(norm, GraphNorm) and near is None and exchange is None and not (self.dropout and self.training):
            return conv(x, graph, After(norm.norming(x.dtype), graph.nodes, self.residual))
        return super().layer_output(x, conv, norm, graph, context, exchange, near, number)


def mean_log_degree(degrees: Tensor) -> float:
    """δ of PNA: the mean of log(d + 1), where d are the in-degrees [N] of all nodes of the training set."""
    return float((degrees.double() + 1).log().mean())
