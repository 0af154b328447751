"""The best score that predictions can reach if they are equal for all graphs of a group."""

import numpy as np

from pfgnn.data.arrays import Array
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.graphs.arrays import IntArray, run_starts

SMALLEST = 1e-300  # a share of 0 becomes this, so that its logarithm is finite


def best_score(task: Task, y: Array, groups: IntArray) -> float | None:
    """The best value of the task's metric. None if the rows cannot be scored, such as if they have only one class.

    Args:
        task: Names the metric.
        y: Targets of R graphs or nodes, shape [R, C]. NaN means unknown.
        groups: Number of each row's group, shape [R].
    """
    import torch  # here, because it takes seconds

    from pfgnn.training.metrics import CLASSES, score

    make = _class_scores if task.metric in CLASSES else _shares if task.metric == "roc_auc" else _medians
    known = y.astype(float)
    try:
        found = score(task, torch.from_numpy(make(task, known, _ranks(groups))), torch.from_numpy(known))
    except InputError:
        return None
    return next(iter(found.values()))


def _class_scores(task: Task, y: Array, groups: IntArray) -> Array:
    """Logarithms of the shares of the classes in each row's group, [R, outputs]: best for accuracy and for areas."""
    known = ~np.isnan(y[:, 0])
    counts = np.zeros((groups.max() + 1, max(2, task.outputs)))
    np.add.at(counts, (groups[known], y[known, 0].astype(np.int64)), 1)
    shares = np.log(np.maximum(counts / np.maximum(counts.sum(1, keepdims=True), 1), SMALLEST))
    if task.outputs == 1:  # the score is the logit of class 1
        shares = shares[:, 1:] - shares[:, :1]
    return shares[groups]


def _shares(task: Task, y: Array, groups: IntArray) -> Array:
    """The share of class 1 in each row's group, for each target, [R, outputs]: in this order the area is largest."""
    known = ~np.isnan(y)
    sums, counts = np.zeros((2, groups.max() + 1, y.shape[1]))
    np.add.at(sums, groups, np.where(known, y > 0, 0))
    np.add.at(counts, groups, known)
    return (sums / np.maximum(counts, 1))[groups]


def _medians(task: Task, y: Array, groups: IntArray) -> Array:
    """The median of each row's group, for each target, [R, outputs]: no other number has a smaller absolute error."""
    order = np.argsort(groups, kind="stable")
    starts = run_starts(groups[order])
    sizes = np.diff(starts, append=len(order))
    best = y.copy()
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        rows = order[start : start + size]
        for target in range(y.shape[1]):
            known = y[rows, target][~np.isnan(y[rows, target])]
            best[rows, target] = np.median(known) if known.size else 0.0
    return np.nan_to_num(best)


def _ranks(groups: IntArray) -> IntArray:
    return np.unique(groups, return_inverse=True)[1]
