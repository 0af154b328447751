"""GAT (Veličković et al., ICLR 2018)."""

import torch
from torch import Tensor, nn

from pfgnn.model.backbones.stack import Stack
from pfgnn.model.numeric import check_positive
from pfgnn.model.segments import segment_log_softmax, segment_sum, spread


class GATLayer(nn.Module):
    """h_i ← Σ_{j ∈ N(i) ∪ {i}} a_ij W h_j + b, a_ij = softmax_j LeakyReLU(s · W h_j + t · W h_i), per head.

    The heads share the width, D / heads features each, and are concatenated.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        if width % check_positive("heads", heads):
            raise ValueError(f"heads must divide the width {width}, but heads is {heads}")
        self.heads = heads
        self.linear = nn.Linear(width, width, bias=False)
        self.source = nn.Parameter(torch.empty(heads, width // heads))
        self.target = nn.Parameter(torch.empty(heads, width // heads))
        self.bias = nn.Parameter(torch.zeros(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the attention vectors, zero the bias; the linear map resets itself."""
        nn.init.xavier_uniform_(self.source)
        nn.init.xavier_uniform_(self.target)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> Tensor:
        """x [N, ..., D], edge_index [2, E] -> [N, ..., D]."""
        loops = torch.arange(len(x), device=x.device).expand(2, -1)
        source, target = torch.cat([edge_index, loops], 1)
        h = self.linear(x).unflatten(-1, (self.heads, -1))  # [N, ..., heads, D / heads]
        score = spread((h * self.source).sum(-1), source) + spread((h * self.target).sum(-1), target)
        score = nn.functional.leaky_relu(score, 0.2)  # [E + N, ..., heads]
        attention = segment_log_softmax(score, target, len(x)).exp()
        return segment_sum(attention[..., None] * spread(h, source), target, len(x)).flatten(-2) + self.bias


class GAT(Stack):
    """A stack of :class:`GATLayer`. Args: width; layers; heads; norm, residual as in :class:`Stack`."""

    def __init__(self, width: int, layers: int = 3, heads: int = 4, norm: str = "graph", residual: bool = True) -> None:
        super().__init__(lambda: GATLayer(width, heads), width, layers, norm, residual)
