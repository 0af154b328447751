"""Partly labelled data: which graphs of a part have a known target. NaN means unknown."""

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import Shards
from pfgnn.errors import InputError, shown
from pfgnn.graphs.arrays import IntArray


def labelled(dataset: Dataset | Shards, graphs: IntArray, part: str) -> IntArray:
    """The graphs of a part that have at least one known target, at node level at least one known node.

    Raises an InputError if a target is unknown in the whole part, because it could be neither trained nor scored.

    Args:
        dataset: The dataset.
        graphs: Numbers of the graphs of the part, not empty.
        part: Name of the part, for the message.
    """
    known = ~np.isnan(dataset.y)  # [G, C], or [N, C] at node level
    if known.all():
        return graphs
    if dataset.task.level == "node":
        first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
        known = np.logical_or.reduceat(known, first)  # [G, C]
    empty = ~known[graphs].any(0)
    if empty.any():
        names = dataset.task.targets or range(known.shape[1])
        raise InputError(
            f"the part {shown(part)} of {dataset.name} must have a known value of every target, "
            f"but target {names[int(empty.argmax())]} is NaN in all of its graphs"
        )
    return graphs[known[graphs].any(1)]
