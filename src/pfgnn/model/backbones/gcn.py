"""GCN (Kipf and Welling, ICLR 2017)."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack
from pfgnn.ops.segments import sum_neighbours


class GCNLayer(nn.Module):
    """h_i ← Σ_{j ∈ N(i) ∪ {i}} W h_j / √(d_i d_j) + b, with d_i = 1 + in-degree of i.

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))

    def reset_parameters(self) -> None:
        """Set the bias to 0. The linear map has its own ``reset_parameters``."""
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Apply the layer to x [N, ..., D]; see the class."""
        degree = 1 + graph.targets.counts
        scale = degree.to(x.dtype).rsqrt().view(-1, *(1,) * (x.dim() - 1))  # [N, 1, ...]
        h = scale * self.linear(x)
        return scale * sum_neighbours(h, h.new_ones(()), graph.sources, graph.targets) + self.bias


@BACKBONES.register("gcn")
class GCN(Stack):
    """GCN: a mean over the neighbours, scaled by degrees (Kipf and Welling, ICLR 2017). A stack of :class:`GCNLayer`.

    Args:
        width: D.
        layers: Number of layers.
        options: Other arguments of :class:`Stack`.
    """

    def __init__(self, width: int, layers: int = 3, **options: Unpack[Options]) -> None:
        super().__init__(lambda: GCNLayer(width), width, layers, **options)
