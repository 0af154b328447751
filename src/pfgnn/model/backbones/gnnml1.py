"""GNNML1 (Balcilar et al., ICML 2021)."""

from typing import Unpack

from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack
from pfgnn.ops.segments import sum_neighbours


class GNNML1Layer(nn.Module):
    """H ← H W1 + A H W2 + (H W3) ⊙ (H W4).

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(width, width)
        self.neighbours = nn.Linear(width, width, bias=False)
        self.left = nn.Linear(width, width)
        self.right = nn.Linear(width, width)

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Apply the layer to x [N, ..., D]; see the class."""
        around = sum_neighbours(self.neighbours(x), x.new_zeros(()), graph.sources, graph.targets)
        return self.own(x) + around + self.left(x) * self.right(x)


@BACKBONES.register("gnnml1")
class GNNML1(Stack):
    """GNNML1: sums and products of linear maps (Balcilar et al., ICML 2021). A stack of :class:`GNNML1Layer`.

    Args:
        width: D.
        layers: Number of layers.
        options: Other arguments of :class:`Stack`.
    """

    def __init__(self, width: int, layers: int = 3, **options: Unpack[Options]) -> None:
        super().__init__(lambda: GNNML1Layer(width), width, layers, **options)
