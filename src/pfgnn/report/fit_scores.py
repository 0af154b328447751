"""Test errors with their uncertainty, and coverages of intervals. Each target is scored by itself."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError
from pfgnn.experiments.calibration import conformal_quantile
from pfgnn.experiments.intervals import wilson
from pfgnn.training.metrics import accuracy, higher_is_better, score

Doubles = npt.NDArray[np.float64]

RESAMPLES = 200
COMMON = 2 / 3  # if more of the test graphs are of one class, accuracy says little
ASKED = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # coverages that are looked at


class Target(NamedTuple):
    """One target of a task, to be scored by itself: targets may have different units.

    Fields:
        name: Its name.
        task: The task with this target alone.
        column: Its column in the targets.
        outputs: Its columns in the predictions.
    """

    name: str
    task: Task
    column: int
    outputs: slice

    def known(self, truth: Doubles) -> npt.NDArray[np.bool_]:
        """The rows of the targets [R, C'] in which this one is known, [R]."""
        return ~np.isnan(truth[:, self.column])


class Scored(NamedTuple):
    """A metric of a model on the test part.

    Fields:
        name: Name of the metric.
        value: Its value.
        resampled: Its value on resampled test parts (bootstrap over graphs), NaN for one that cannot be scored. The
            resamples of all models are the same, so that models can be compared.
        graphs: Number of test graphs with a known target; 0 if nobody needs it.
    """

    name: str
    value: float
    resampled: Doubles
    graphs: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of its 95 % interval for all graphs like those of the test part; None if they are not known.

        If all classes are right, they are right in every resample too. So an accuracy has the interval of Wilson.
        """
        if self.name == "accuracy" and self.graphs:
            return wilson(self.value, self.graphs)
        return _interval(self.resampled)

    def ahead_of(self, other: "Scored") -> bool:
        """Whether this model is better than another one on 97.5 % of the resampled test parts."""
        ends = _interval(self.resampled - other.resampled)
        return ends is not None and (ends[0] > 0 if higher_is_better(self.name) else ends[1] < 0)


class Coverage(NamedTuple):
    """How often the intervals of a target hold the truth.

    Fields:
        asked: Share that was asked for.
        inside: Number of test graphs whose interval holds the truth.
        graphs: Number of test graphs with a known value.
        half_width: Half the width of the interval.
    """

    asked: float
    inside: int
    graphs: int
    half_width: float

    @property
    def got(self) -> float:
        """The share of the test graphs whose interval holds the truth."""
        return self.inside / self.graphs


def split_targets(task: Task, names: Sequence[str]) -> list[Target]:
    """The targets of a task, one by one. A task with classes has one target.

    Args:
        task: The task.
        names: A name for each column of the targets.
    """
    if task.loss in CLASS_LOSSES:
        return [Target(names[0], task, 0, slice(None))]
    metric = "mae" if task.loss == "l1" else "roc_auc"
    alone = replace(task, outputs=1, metric=metric, targets=(), scales=())
    return [Target(name, alone, column, slice(column, column + 1)) for column, name in enumerate(names)]


def score_target(target: Target, prediction: Doubles, truth: Doubles, seed: int = 0) -> list[Scored]:
    """All metrics of a model for one target on the test part, the main one first; empty if it cannot be scored.

    Args:
        target: The target.
        prediction: Predictions as :func:`pfgnn.training.metrics.score` reads them, [R, C].
        truth: Targets, [R, C'].
        seed: Seed of the resamples.
    """
    known = target.known(truth)
    z = torch.from_numpy(prediction[known, target.outputs])
    y = torch.from_numpy(truth[known, target.column][:, None])
    try:
        values = _metrics(target.task, z, y)
    except InputError:  # such as one class alone in the test part
        return []
    rng = np.random.default_rng(seed)
    found = {name: np.full(RESAMPLES, np.nan) for name in values}
    for number in range(RESAMPLES):
        rows = torch.from_numpy(rng.integers(0, len(z), len(z)))
        try:
            for name, value in _metrics(target.task, z[rows], y[rows]).items():
                found[name][number] = value
        except InputError:  # a resample without one of the classes says nothing
            continue
    return [Scored(name, value, found[name], len(y)) for name, value in values.items() if math.isfinite(value)]


def _interval(values: Doubles) -> tuple[float, float] | None:
    known = values[np.isfinite(values)]
    if len(known) <= RESAMPLES / 2:
        return None
    low, high = np.quantile(known, [0.025, 0.975]).tolist()
    return low, high


def _metrics(task: Task, z: Tensor, y: Tensor) -> dict[str, float]:
    """The metric that says most first, then those that readers look for beside it. NaN if one cannot be computed.

    Args:
        task: A task with one target.
        z: Predictions, [R, C].
        y: Known targets, [R, 1].
    """
    if not len(y):
        raise InputError("y must have a known value to be scored, but it has none")
    if task.loss == "l1":
        squares, spread = float(((z - y) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
        mae = float((z - y).abs().mean())
        return {"mae": mae, "rmse": math.sqrt(squares / len(y)), "r2": 1 - squares / spread if spread else math.nan}
    if task.loss not in CLASS_LOSSES:
        return score(task, z, y) | {"accuracy": accuracy(z, y)}
    found = {"mean_roc_auc": math.nan} | score(replace(task, metric="accuracy"), z, y)
    largest = float(y.unique(return_counts=True)[1].max()) / len(y)
    first = "mean_roc_auc" if largest > COMMON else "accuracy"
    return {first: found[first]} | found


def coverages(errors: Doubles, scores: Doubles) -> list[Coverage]:
    """The coverage of the conformal intervals of one target on the test part.

    Args:
        errors: |truth - prediction| of the test part, [R]. NaN means unknown.
        scores: |truth - prediction| of the graphs held out for calibration, ascending.
    """
    known, found = errors[~np.isnan(errors)], []
    for asked in ASKED if len(known) else ():
        try:
            half = conformal_quantile(scores, asked)
        except InputError:  # there are too few graphs for this coverage
            continue
        found.append(Coverage(asked, int((known <= half).sum()), len(known), half))
    return found
