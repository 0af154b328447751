"""The graphs of a run."""

from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.data.loader import Indices, Resident


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
