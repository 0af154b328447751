"""GAT (Veličković et al., ICLR 2018)."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack
from pfgnn.ops.segments import Segments, segment_max, segment_sum, spread
from pfgnn.setting_types import MOST_WIDTH


class GATLayer(nn.Module):
    """h_i ← Σ_{j ∈ N(i) ∪ {i}} a_ij W h_j + b, a_ij = softmax_j LeakyReLU(s · W h_j + t · W h_i), for each head.

    Each head has D / heads features. The heads are concatenated.

    Args:
        width: D.
        heads: Number of heads. It must divide D.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        if width % check_positive("heads", heads, most=MOST_WIDTH):
            raise InputError(f"heads must divide the width {width}, but heads is {heads}")
        self.heads = heads
        self.linear = nn.Linear(width, width, bias=False)
        self.source = nn.Parameter(torch.empty(heads, width // heads))
        self.target = nn.Parameter(torch.empty(heads, width // heads))
        self.bias = nn.Parameter(torch.zeros(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the attention vectors and the bias. The linear map has its own ``reset_parameters``."""
        nn.init.xavier_uniform_(self.source)
        nn.init.xavier_uniform_(self.target)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Apply the layer to x [N, ..., D]; see the class."""
        sources, targets = graph.sources, graph.targets
        h = self.linear(x).unflatten(-1, (self.heads, -1))  # [N, ..., heads, D / heads]
        sent, received = (h * self.source).sum(-1), (h * self.target).sum(-1)  # [N, ..., heads]
        own = nn.functional.leaky_relu(sent + received, 0.2)  # score of j = i
        score = nn.functional.leaky_relu(spread(sent, sources) + spread(received, targets), 0.2)  # [E, ..., heads]
        # The largest score of each node, which keeps exp from overflowing. Without neighbours it is the node's own.
        top = torch.where(_any(targets, own), segment_max(score.detach(), targets).maximum(own), own).detach()
        weight, own_weight = (score - spread(top, targets)).exp(), (own - top).exp()
        total = segment_sum(weight, targets) + own_weight
        around = segment_sum(weight[..., None] * spread(h, sources), targets) + own_weight[..., None] * h
        return (around / total[..., None]).flatten(-2) + self.bias


def _any(segments: Segments, like: Tensor) -> Tensor:
    """Whether each segment has rows, shape [S, 1, ...], with as many axes as ``like``."""
    return (segments.counts > 0).view(-1, *(1,) * (like.dim() - 1))


@BACKBONES.register("gat")
class GAT(Stack):
    """GAT: attention over the neighbours (Veličković et al., ICLR 2018). A stack of :class:`GATLayer`.

    Args:
        width: D.
        layers: Number of layers.
        heads: Number of heads. It must divide D.
        options: Other arguments of :class:`Stack`.
    """

    def __init__(self, width: int, layers: int = 3, heads: int = 4, **options: Unpack[Options]) -> None:
        super().__init__(lambda: GATLayer(width, heads), width, layers, **options)
