"""A GNN without a particle filter."""

from collections.abc import Sequence

from torch import nn

from pfgnn.model.individualise import RandomNormal
from pfgnn.model.pfgnn import PFGNN
from pfgnn.model.readout import MeanParticle, Readout


class Alone(PFGNN):
    """y = MLP(pool_v GNN(H0)): PF-GNN with T = 0 steps, and without parameters for steps.

    Args:
        backbone: The GNN, from width D to width D, as in :class:`PFGNN`.
        out_channels: C, the number of outputs.
        in_channels: As in :class:`PFGNN`.
        edge_channels: As in :class:`PFGNN`.
        width: As in :class:`PFGNN`.
        level: Level of the default readout; see :class:`Readout`.
        pool: Pooling of the default readout; see :class:`Readout`.
        readout: A readout for 0 steps. Default: :class:`MeanParticle`, which pools over the nodes.
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
        D = getattr(backbone, "width", width) or 1  # without any width, the constructor of PFGNN raises the error
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
