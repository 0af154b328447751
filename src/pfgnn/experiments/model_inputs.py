"""What a model needs to know about its data. It is stored with a run, so the model can be rebuilt without the data."""

from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

import numpy as np
import torch

from pfgnn.data import Dataset
from pfgnn.data.shards import Shards
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.graphs.arrays import IntArray
from pfgnn.model import mean_log_degree

Channels = int | tuple[int, ...]


@dataclass(frozen=True)
class Inputs:
    """The features and the task of a dataset.

    Args:
        name: Name of the dataset.
        task: Task of the dataset.
        in_channels: Number of node features, or number of categories of each column, see :class:`pfgnn.model.PFGNN`.
        edge_channels: The same for the edges; None without edge features.
        mean_log_degree: Mean of log(degree + 1) over the nodes of the training graphs; PNA needs it.
        mean_nodes: Mean number of nodes of a training graph; ``model.scale_sums`` needs it.
        node_categories: Number of categories of each column of x, before encodings are appended. None if the columns
            are continuous, or for a run that did not record it.
        edge_categories: The same for edge_attr, before lengths are appended.
    """

    name: str
    task: Task
    in_channels: Channels
    edge_channels: Channels | None
    mean_log_degree: float
    mean_nodes: float
    node_categories: tuple[int, ...] | None = None
    edge_categories: tuple[int, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """The inputs as a dictionary of values that JSON can store."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()} | {
            "task": {name: list(v) if isinstance(v, tuple) else v for name, v in self.task.to_json().items()}
        }

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Inputs":
        """The inputs from the values of :meth:`to_json`."""
        known = {field.name for field in fields(Inputs)}
        needed = {field.name for field in fields(Inputs) if field.default is MISSING}
        if not needed <= values.keys() <= known:
            raise InputError("the run must come from this version of pfgnn, but it comes from another; train it again")
        channels = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return Inputs(**{**values, **channels, "task": Task.from_json(values["task"])})


def describe(dataset: Dataset | Shards, train: IntArray, before: Dataset | Shards | None = None) -> Inputs:
    """The inputs of a dataset.

    Args:
        dataset: The dataset, after :func:`pfgnn.experiments.build.adapt`.
        train: Numbers of the training graphs.
        before: The dataset before that; None if it is not known.
    """
    if isinstance(dataset, Shards):
        log_degree = _mean_in_shards(dataset, train)
    else:
        log_degree = mean_log_degree(torch.from_numpy(_degrees(dataset.subset(train))))
    channels = (dataset.in_channels, dataset.edge_channels)
    mean_nodes = float(dataset.node_counts[train].mean())
    like = before.sample if isinstance(before, Shards) else before
    categories = (None, None) if like is None else (like.node_categories, like.edge_categories)
    return Inputs(dataset.name, dataset.task, *channels, log_degree, mean_nodes, *categories)


def _mean_in_shards(shards: Shards, train: IntArray) -> float:
    """The mean of log(degree + 1) over the nodes of the training graphs, from the counts of each degree."""
    counts = []
    times = np.bincount(train, minlength=len(shards))  # a graph may be in the part several times
    for number, of_shard in enumerate(np.split(times, shards.first[1:-1])):
        if of_shard.any():
            dataset = shards.shard(number)
            counts.append(np.bincount(_degrees(dataset), np.repeat(of_shard, dataset.node_counts)))
    total = np.zeros(max(map(len, counts)))
    for found in counts:
        total[: len(found)] += found
    return float(np.average(np.log(np.arange(len(total)) + 1), weights=total))


def _degrees(dataset: Dataset) -> IntArray:
    """The in-degree of each node, shape [N]."""
    first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
    target = dataset.edges[1] + np.repeat(first, dataset.edge_counts)
    return np.bincount(target, minlength=int(dataset.node_counts.sum()))
