"""The graphs of a run, and how its batches are padded."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pfgnn.data.batching import Indices, Resident


class Examples(NamedTuple):
    """The graphs of a run: all of them on the device, the numbers of those to train on, to validate on."""

    data: Resident
    targets: Tensor  # of every graph, or node, on the CPU: [G, C] or [N, C]
    train: Indices
    validation: Indices | None

    def y(self, graphs: Indices) -> Tensor:
        """The targets of the given graphs."""
        if not self.data.node_level:
            return self.targets[torch.from_numpy(graphs)]
        first, count = self.data.node_first[graphs].tolist(), self.data.node_counts[graphs].tolist()
        return torch.cat([self.targets[f : f + n] for f, n in zip(first, count, strict=True)])


def padding(data: Resident, graphs: Indices, batch_size: int) -> tuple[int, int] | None:
    """To multiples of what nodes and edges to pad batches, so that a handful of shapes occurs; None if one does."""
    if len(np.unique(data.node_counts[graphs])) == len(np.unique(data.edge_counts[graphs])) == 1:
        return None
    rows = min(batch_size, len(graphs))
    means = (rows * counts[graphs].mean() for counts in (data.node_counts, data.edge_counts))
    nodes, edges = (2 ** round(math.log2(max(mean, 128) / 16)) for mean in means)
    return nodes, edges
