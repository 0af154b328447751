"""ChebNet (Defferrard et al., NeurIPS 2016)."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack
from pfgnn.ops.segments import sum_neighbours
from pfgnn.setting_types import MOST_LAYERS


class ChebLayer(nn.Module):
    """H ← Σ_{k < order} T_k(L̂) H W_k + b, T_0 = 1, T_1(L̂) = L̂, T_k(L̂) = 2 L̂ T_{k-1}(L̂) - T_{k-2}(L̂).

    L̂ = 2 L / λ_max - I with L = I - D^(-1/2) A D^(-1/2). For λ_max we take its upper bound 2, so
    L̂ = -D^(-1/2) A D^(-1/2).

    Args:
        width: Width of the embeddings.
        order: Number of terms of the polynomial.
    """

    def __init__(self, width: int, order: int) -> None:
        super().__init__()
        self.order = check_positive("order", order, most=MOST_LAYERS)
        self.linear = nn.Linear(order * width, width)  # all W_k, and b

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Apply the layer to x [N, ..., D]; see the class."""
        degree = graph.targets.counts.clamp(min=1)  # avoids 0^(-1/2); a node without neighbours receives nothing
        scale = degree.to(x.dtype).rsqrt().view(-1, *(1,) * (x.dim() - 1))  # [N, 1, ...]

        def laplacian(h: Tensor) -> Tensor:
            return -scale * sum_neighbours(scale * h, h.new_zeros(()), graph.sources, graph.targets)

        terms = [x]
        for k in range(1, self.order):
            terms.append(laplacian(x) if k == 1 else 2 * laplacian(terms[-1]) - terms[-2])
        return self.linear(torch.cat(terms, -1))


@BACKBONES.register("chebnet")
class ChebNet(Stack):
    """ChebNet: polynomials of the Laplacian (Defferrard et al., NeurIPS 2016). A stack of :class:`ChebLayer`.

    Args:
        width: Width of the embeddings.
        layers: Number of layers.
        order: Number of terms of the polynomial.
        options: Other arguments of :class:`Stack`.
    """

    def __init__(self, width: int, layers: int = 3, order: int = 3, **options: Unpack[Options]) -> None:
        super().__init__(lambda: ChebLayer(width, order), width, layers, **options)
