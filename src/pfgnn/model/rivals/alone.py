"""A GNN without a filter."""

from collections.abc import Sequence

from torch import nn

from pfgnn.model.individualise import RandomNormal
from pfgnn.model.pfgnn import PFGNN
from pfgnn.model.readout import MeanParticle, Readout


class Alone(PFGNN):
    """y = MLP(pool_v GNN(H0)): PF-GNN with no steps, and with no parameters for them.

    Args:
        backbone: the GNN, from width D to width D, as in :class:`PFGNN`.
        out_channels: number of outputs C.
        in_channels, edge_channels, width: as in :class:`PFGNN`.
        readout: with no steps. By default the mean or sum over the nodes, and the head.
        level, pool: of the default readout, see :class:`Readout`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        out_channels: int,
        *,
        in_channels: int | Sequence[int] = 0,
        edge_channels: int | Sequence[int] | None = None,
        width: int | None = None,
        level: str = "graph",
        pool: str = "mean",
        readout: Readout | None = None,
    ) -> None:
        D = getattr(backbone, "width", width) or 1  # where neither says a width, PFGNN complains
        super().__init__(
            backbone,
            out_channels,
            in_channels=in_channels,
            edge_channels=edge_channels,
            steps=0,
            particles=1,
            width=width,
            individualise=RandomNormal(D),
            readout=readout or MeanParticle(D, 0, out_channels, level=level, pool=pool),
        )
