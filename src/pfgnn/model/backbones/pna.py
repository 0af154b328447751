"""PNA (Corso et al., NeurIPS 2020)."""

import torch
from torch import Tensor, nn

from pfgnn.kernels.aggregate import aggregate
from pfgnn.model.backbones.stack import Stack, check_edge_attr
from pfgnn.model.batch import GraphBatch
from pfgnn.model.numeric import check_positive


class PNALayer(nn.Module):
    """Four aggregators times three degree scalers, in towers.

    message m_ij = A h_j + B h_i + C e_ij (the pre-network is one linear map, so nodes are transformed, not
    edges); a_i = [mean, min, max, std]_j m_ij; s_i = [a_i, a_i log(d_i + 1) / δ, a_i δ / log(d_i + 1)];
    h_i ← V (U [h_i, s_i]), U one map per tower, V mixing the towers. δ = mean of log(d + 1) over the
    training set's nodes.
    """

    def __init__(self, width: int, towers: int, mean_log_degree: float, edges: bool) -> None:
        super().__init__()
        if width % check_positive("towers", towers):
            raise ValueError(f"towers must divide the width {width}, but towers is {towers}")
        if not mean_log_degree > 0:
            raise ValueError(f"mean_log_degree must be positive, but it is {mean_log_degree}")
        self.towers = towers
        self.mean_log_degree = mean_log_degree
        self.from_source = nn.Linear(width, towers * width, bias=False)  # A
        self.from_target = nn.Linear(width, towers * width)  # B
        self.from_edge = nn.Linear(width, towers * width, bias=False) if edges else None  # C
        self.post = nn.Parameter(torch.empty(towers, 13 * width, width // towers))  # U
        self.post_bias = nn.Parameter(torch.empty(towers, width // towers))
        self.mix = nn.Linear(width, width)  # V
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the towers' maps as nn.Linear does; the linear maps reset themselves."""
        bound = self.post.shape[1] ** -0.5
        nn.init.uniform_(self.post, -bound, bound)
        nn.init.uniform_(self.post_bias, -bound, bound)

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """x [N, ..., D] -> [N, ..., D]; the graph's edge_attr is [E, D] if built with edges."""
        edge = None
        if self.from_edge is not None:
            edge = self.from_edge(check_edge_attr("PNA", graph.edge_attr, x.shape[-1]))
        a = aggregate(self.from_source(x), edge, self.towers, graph.sources, graph.targets)  # [N, ..., towers, 4 D]
        of_aggregates, of_own, bias = self._maps()
        y = a.view(-1, *a.shape[-2:]).transpose(0, 1) @ of_aggregates  # [towers, N ..., 3 D / towers]
        own = torch.addmm(bias, x.reshape(-1, x.shape[-1]), of_own)  # [N ..., towers * 4 * D / towers]

        count = graph.targets.counts
        amplify = (count.clamp(min=1) + 1).to(x.dtype).log() / self.mean_log_degree  # [N]
        scale = torch.stack([torch.ones_like(amplify), amplify, 1 / amplify], 1)  # [N, 3]
        scale_own = torch.cat([scale * (count > 0)[:, None], torch.ones_like(amplify)[:, None]], 1)  # [N, 4]
        y = y.view(self.towers, len(x), -1, 3, y.shape[-1] // 3)  # [towers, N, ..., 3, D / towers]
        own = own.view(len(x), -1, self.towers, 4, y.shape[-1])  # [N, ..., towers, 4, D / towers]
        out = torch.einsum("tnkso,ns->nkto", y, scale) + torch.einsum("nktso,ns->nkto", own, scale_own)
        return self.mix(out.flatten(2)).view_as(x)

    def _maps(self) -> tuple[Tensor, Tensor, Tensor]:
        """The maps from aggregates and from h_i to the towers' outputs, for each scaler, and the latter's bias.

        B h_i is the same in all messages to i: it moves through mean, min and max as it is, and not into std. So it is
        no part of the messages; its map to the output is B times U's parts for the three, added.
        """
        T, _, F = self.post.shape
        D = self.mix.in_features
        U = self.post[:, D:].view(T, 3, 4, D, F)  # tower, scaler, aggregator, feature, output
        through = U[:, :, :3].sum(2)  # [T, 3, D, F]
        B = self.from_target.weight.view(T, D, D)  # tower, feature, input
        of_target = torch.einsum("tfd,tsfo->dtso", B, through)  # [D, T, 3, F]
        of_own = torch.cat([of_target, self.post[:, :D].permute(1, 0, 2)[:, :, None]], 2)  # [D, T, 4, F]
        bias = torch.einsum("tf,tsfo->tso", self.from_target.bias.view(T, D), through)
        bias = torch.cat([bias, self.post_bias[:, None]], 1)  # [T, 4, F]
        return U.flatten(2, 3).transpose(1, 2).flatten(2), of_own.flatten(1), bias.flatten()


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
