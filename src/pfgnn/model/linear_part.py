"""A part of a prediction that is linear in what a graph holds."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.model.features import check_channels
from pfgnn.ops.segments import segment_sum
from pfgnn.setting_types import MOST_CHANNELS

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
        columns = 2 + _columns(self.in_channels) + _columns(self.edge_channels)
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
        return segment_sum(torch.cat(nodes, 1), graph.nodes)

    def forward(self, graph: GraphBatch) -> Tensor:
        """y of each graph, shape [G, C], in float64."""
        return self.sums(graph).double() @ self.weight.T + self.bias


def _columns(channels: Channels) -> int:
    return sum(channels) if isinstance(channels, Sequence) else channels or 0


def _features(x: Tensor | None, channels: Channels) -> list[Tensor]:
    """The features as columns of numbers, shape [R, F] in all."""
    if x is None or not channels:
        return []
    if isinstance(channels, Sequence):
        x = x[:, None] if x.dim() == 1 else x
        return [one_hot(x[:, c].long(), size).float() for c, size in enumerate(channels)]
    return [x.reshape(len(x), -1).float()]
