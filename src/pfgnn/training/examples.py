"""The graphs of a run, and their batches."""

from typing import NamedTuple

import torch
from lightning_fabric import Fabric
from torch import Tensor

from pfgnn.data.loader import Indices, Loader, Resident
from pfgnn.training.config import TrainingConfig


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


def make_loader(examples: Examples, config: TrainingConfig, seed: int, fabric: Fabric, pad: bool) -> Loader:
    """The training batches of a run.

    Args:
        examples: the graphs.
        config: of the training.
        seed: of the order.
        fabric: the devices, each of which gets a share of every batch.
        pad: whether batches are padded to few shapes.
    """
    batch_size = even_size(config, len(examples.train))
    return Loader(
        examples.data,
        examples.train.repeat(config.copies),
        batch_size,
        shuffle=True,
        seed=seed,
        pad=examples.data.multiples(examples.train, batch_size) if pad else None,
        rank=fabric.global_rank,
        world=fabric.world_size,
    )


def even_size(config: TrainingConfig, graphs: int) -> int:
    """The smallest batch size that gives an epoch no more batches than ``config.batch_size`` does.

    So no batch is much smaller than the others; the numbers of a norm over the batch would be worth little there.

    Args: config: of the training.  graphs: number of graphs to train on.
    """
    total = graphs * config.copies
    return max(1, -(-total // -(-total // config.batch_size)))
