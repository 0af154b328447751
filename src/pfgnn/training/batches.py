"""The graphs of a run, and their batches."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.data.arrays import rows_of
from pfgnn.data.loader import GraphStore, Indices, Loader
from pfgnn.training.config import TrainingConfig
from pfgnn.training.devices import Devices


class Examples(NamedTuple):
    """The graphs of a run.

    Fields:
        data: All graphs.
        targets: Targets of all graphs [G, C] or all nodes [N, C], on the CPU.
        train: Numbers of the training graphs.
        validation: Numbers of the validation graphs; None without a validation part.
        weights: Weight of each graph in the training, [G]; None if all are equal. See :class:`Loader`.
    """

    data: GraphStore
    targets: Tensor
    train: Indices
    validation: Indices | None
    weights: npt.NDArray[np.float64] | None = None

    def y(self, graphs: Indices) -> Tensor:
        """The targets of the given graphs."""
        rows = rows_of(self.data.node_counts, graphs) if self.data.node_level else graphs
        return self.targets[torch.from_numpy(rows)]


def make_loader(examples: Examples, config: TrainingConfig, seed: int, devices: Devices, pad: bool) -> Loader:
    """The loader of the training batches.

    Args:
        examples: The graphs.
        config: Settings of the training.
        seed: Seed of the order of the graphs.
        devices: The devices. Each one gets a share of every batch.
        pad: Whether to pad batches, so that they have only a few different shapes.
    """
    batch_size = even_size(config, len(examples.train))
    own_size = -(-batch_size // devices.world)
    weights = None if examples.weights is None else examples.weights[examples.train].repeat(config.copies)
    return Loader(
        examples.data,
        examples.train.repeat(config.copies),
        batch_size,
        shuffle=True,
        seed=seed,
        pad=examples.data.multiples(examples.train, own_size) if pad else None,
        rank=devices.rank,
        world=devices.world,
        weights=weights,
    )


def even_size(config: TrainingConfig, graphs: int) -> int:
    """The smallest batch size that gives as few batches in an epoch as ``config.batch_size`` does.

    So no batch is much smaller than the others. A batch norm would estimate its statistics badly on a small batch.

    Args:
        config: Settings of the training.
        graphs: Number of training graphs.
    """
    total = graphs * config.copies
    return max(1, -(-total // -(-total // config.batch_size)))
