"""The best score of predictions that are equal in each group."""

from itertools import product

import numpy as np
import pytest
import torch

from pfgnn.data import Task
from pfgnn.data.arrays import Array
from pfgnn.report.best_scores import best_score
from pfgnn.training.metrics import score

NAN = float("nan")
GROUPS = np.array([5, 5, 5, 9, 9, 2])
GRID = (-1.0, 0.0, 1.0, 2.0)


def by_trial(task: Task, y: Array) -> float:
    """The best score of all predictions from a grid, one for each of the three groups."""
    places = np.unique(GROUPS, return_inverse=True)[1]
    trials = []
    for values in product(GRID if task.outputs == 1 else GRID[:3], repeat=3 * task.outputs):
        prediction = np.array(values).reshape(3, task.outputs)[places]
        trials.append(next(iter(score(task, torch.from_numpy(prediction), torch.from_numpy(y)).values())))
    return (min if task.metric in ("mae", "error_ratio") else max)(trials)


@pytest.mark.parametrize(
    ("task", "y"),
    [
        (Task("graph", 1, "l1", "mae"), [[0], [1], [1], [2], [NAN], [-1]]),
        (Task("graph", 1, "l1", "error_ratio", ("a",), (0.5,)), [[0], [1], [1], [2], [1], [-1]]),
        (Task("graph", 2, "cross_entropy", "accuracy"), [[0], [1], [1], [0], [1], [NAN]]),
        (Task("graph", 1, "binary_cross_entropy", "roc_auc"), [[0], [1], [1], [0], [NAN], [1]]),
        (Task("graph", 1, "binary_cross_entropy", "accuracy"), [[0], [1], [1], [0], [1], [1]]),
        (Task("graph", 2, "cross_entropy", "mean_roc_auc"), [[0], [1], [1], [0], [1], [1]]),
    ],
)
def test_no_prediction_of_a_grid_is_better(task: Task, y: list[list[float]]) -> None:
    assert best_score(task, np.array(y), GROUPS) == pytest.approx(by_trial(task, np.array(y)), abs=1e-12)


def test_groups_of_one_reach_all_and_one_group_is_a_constant() -> None:
    task, y = Task("graph", 2, "l1", "mae"), np.array([[0.0, 10.0], [1.0, NAN], [5.0, 30.0]])
    assert best_score(task, y, np.arange(3)) == 0
    assert best_score(task, y, np.zeros(3, dtype=np.int64)) == pytest.approx((5 / 3 + 10) / 2)


def test_what_cannot_be_scored_is_none() -> None:
    task = Task("graph", 1, "binary_cross_entropy", "roc_auc")
    assert best_score(task, np.ones((3, 1)), np.arange(3)) is None
