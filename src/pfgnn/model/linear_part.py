"""A part of a prediction that is linear in what a graph holds."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.clamp import bounded
from pfgnn.model.features import check_channels
from pfgnn.ops.segments import segment_sum
from pfgnn.setting_types import MOST_CHANNELS

MOST_COLUMNS = 500  # the regression takes time that grows with the third power of this
Channels = int | Sequence[int] | None


class LinearPart(nn.Module):
    """y = b + W s, with s = (number of nodes, number of edges, Σ_v x_v, Σ_e e), for graphs with features x and e.

    Many numbers are nearly sums over nodes and edges, such as the energy of a molecule over its atoms and bonds. This
    part holds what is such a sum, so that the network has to learn only the rest. Categories count as one-hot, so their
    sums are the numbers of nodes and edges of each kind.

    W and b are not learned with the network: :func:`pfgnn.training.linear_fit.fit_linear` finds them before the
    training. They are float64, because a small rest may be left of a large sum.

    Args:
        in_channels: Number of node features, or of the categories of each column, as in :class:`pfgnn.model.PFGNN`.
        edge_channels: The same for the edges. None if there are no edge features.
        out_channels: C.
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, in_channels: int | Sequence[int], edge_channels: Channels, out_channels: int) -> None:
        super().__init__()
        C = check_positive("out_channels", out_channels, most=MOST_CHANNELS)
        self.in_channels = check_channels("in_channels", in_channels)
        self.edge_channels = None if edge_channels is None else check_channels("edge_channels", edge_channels)
        columns = linear_columns(self.in_channels, self.edge_channels)
        if columns > MOST_COLUMNS:
            raise InputError(
                f"in_channels and edge_channels must be at most {MOST_COLUMNS - 2} columns and categories in all for a "
                f"linear part, but they are {columns - 2}"
            )
        self.register_buffer("weight", torch.zeros(C, columns, dtype=torch.float64))
        self.register_buffer("bias", torch.zeros(C, dtype=torch.float64))

    def sums(self, graph: GraphBatch) -> Tensor:
        """s of each graph, shape [G, F]. Numbers of nodes and edges are exact.

        Args:
            graph: The batch, with its features as the model gets them.
        """
        counts = torch.stack([torch.ones_like(graph.batch), graph.targets.counts], 1)
        nodes = [counts.float(), *_features(graph.x, self.in_channels)]
        nodes += [segment_sum(of, graph.targets) for of in _features(graph.edge_attr, self.edge_channels)]
        found = segment_sum(torch.cat(nodes, 1), graph.nodes)
        if found.shape[1] != self.weight.shape[1]:
            raise InputError(
                f"linear must be a LinearPart for graphs with {found.shape[1]} sums, but it was made for "
                f"{self.weight.shape[1]}; give it the in_channels and edge_channels of the model"
            )
        return found

    def forward(self, graph: GraphBatch) -> Tensor:
        """y of each graph, shape [G, C], in float64."""
        return self.sums(graph).double() @ self.weight.T + self.bias

    def extra_repr(self) -> str:
        """The numbers of sums and outputs."""
        C, F = self.weight.shape
        return f"sums={F}, out_channels={C}"

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "LinearPart":
        """Move W and b as all modules do, but keep them float64 if the model becomes float32 or less."""
        kept = dict(self.named_buffers(recurse=False))
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, value in kept.items():
            setattr(self, name, value.to(getattr(self, name).device))
        return self


def linear_columns(in_channels: Channels, edge_channels: Channels) -> int:
    """The number of sums F for such features, see :class:`LinearPart`."""
    return 2 + _columns(in_channels) + _columns(edge_channels)


def _columns(channels: Channels) -> int:
    return sum(channels) if isinstance(channels, Sequence) else channels or 0


def _features(x: Tensor | None, channels: Channels) -> list[Tensor]:
    """The features as columns of numbers, shape [R, F] in all."""
    if x is None or not channels:
        return []
    if isinstance(channels, Sequence):
        x = x[:, None] if x.dim() == 1 else x
        return [one_hot(x[:, c].long(), size).float() for c, size in enumerate(channels)]
    x = x[:, None] if x.dim() == 1 else x.flatten(1)
    return [bounded(x.float())]
