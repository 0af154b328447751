"""PNA (Corso et al., NeurIPS 2020)."""

import torch
from torch import Tensor, nn

from pfgnn.model.backbones.stack import Stack, check_edge_attr, particles_like
from pfgnn.model.numeric import check_positive
from pfgnn.model.segments import segment_count, segment_max, segment_mean, segment_min, spread


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

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> Tensor:
        """x [N, ..., D], edge_index [2, E], edge_attr [E, D] if built with edges -> [N, ..., D]."""
        source, target = edge_index
        message = spread(self.from_source(x), source) + spread(self.from_target(x), target)  # [E, ..., towers * D]
        if self.from_edge is not None:
            edge = self.from_edge(check_edge_attr("PNA", edge_attr, x.shape[-1]))
            message = message + particles_like(edge, x)
        message = message.unflatten(-1, (self.towers, -1))  # [E, ..., towers, D]

        size = len(x)
        mean = segment_mean(message, target, size)
        variance = segment_mean(message.square(), target, size) - mean.square()
        std = variance.clamp(min=1e-5).sqrt()  # the floor keeps the gradient of the root finite
        low, high = segment_min(message, target, size), segment_max(message, target, size)
        a = torch.cat([mean, low, high, std], -1)  # [N, ..., towers, 4 D]

        degree = segment_count(target, size).clamp(min=1).to(x.dtype)
        amplify = ((degree + 1).log() / self.mean_log_degree).view(-1, *(1,) * x.dim())  # [N, 1, ..., 1]
        own = x[..., None, :].expand_as(mean)
        s = torch.cat([own, a, a * amplify, a / amplify], -1)  # [N, ..., towers, 13 D]
        out = torch.einsum("...tf,tfo->...to", s, self.post) + self.post_bias
        return self.mix(out.flatten(-2))


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
