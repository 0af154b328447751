"""What a model must know of its data: enough to build it again where the data are not."""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import torch

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.graphs.arrays import IntArray
from pfgnn.model import mean_log_degree

Channels = int | tuple[int, ...]


@dataclass(frozen=True)
class Inputs:
    """Features and task of a dataset, as JSON can keep them.

    Args:
        name: of the dataset.
        task: what is predicted.
        in_channels: of the nodes, see :class:`pfgnn.model.PFGNN`.
        edge_channels: of the edges; None without edge features.
        mean_log_degree: of the training graphs' nodes, by which PNA scales.
        mean_nodes: of a training graph, by which sums over nodes are scaled.
    """

    name: str
    task: Task
    in_channels: Channels
    edge_channels: Channels | None
    mean_log_degree: float
    mean_nodes: float

    def to_json(self) -> dict[str, Any]:
        """The inputs as JSON values."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()} | {
            "task": {name: list(v) if isinstance(v, tuple) else v for name, v in self.task.to_json().items()}
        }

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Inputs":
        """The inputs of :meth:`to_json`."""
        if values.keys() != {field.name for field in fields(Inputs)}:
            raise InputError("the run must be of this version of pfgnn, but it is of another one; train it anew")
        channels = {
            name: tuple(values[name]) if isinstance(values[name], list) else values[name]
            for name in ("in_channels", "edge_channels")
        }
        return Inputs(**{**values, **channels, "task": Task.from_json(values["task"])})


def describe(dataset: Dataset, train: IntArray) -> Inputs:
    """The inputs of a dataset whose graphs ``train`` are trained on."""
    degrees = torch.from_numpy(_degrees(dataset.subset(train)))
    channels = (dataset.in_channels, dataset.edge_channels)
    mean_nodes = float(dataset.node_counts[train].mean())
    return Inputs(dataset.name, dataset.task, *channels, mean_log_degree(degrees), mean_nodes)


def _degrees(dataset: Dataset) -> IntArray:
    """The in-degrees of all nodes, [N]."""
    first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
    target = dataset.edges[1] + np.repeat(first, dataset.edge_counts)
    return np.bincount(target, minlength=int(dataset.node_counts.sum()))
