"""Test errors with their uncertainty, and coverages of intervals."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.calibration import conformal_quantile
from pfgnn.experiments.intervals import wilson
from pfgnn.training.metrics import higher_is_better, score

Doubles = npt.NDArray[np.float64]

RESAMPLES = 200
ASKED = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # coverages that are looked at


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
        """The ends of its 95 % interval over other test parts of this size; None if they are not known.

        If all classes are right, they are right in every resample too. So an accuracy has the interval of Wilson.
        """
        if self.name == "accuracy" and self.graphs:
            return wilson(self.value, self.graphs)
        return _interval(self.resampled)

    def ahead_of(self, other: "Scored") -> bool:
        """Whether this model is better than another one also on nearly all other test parts."""
        ends = _interval(self.resampled - other.resampled)
        return ends is not None and (ends[0] > 0 if higher_is_better(self.name) else ends[1] < 0)


class Coverage(NamedTuple):
    """How often intervals hold the truth.

    Fields:
        asked: Share that was asked for.
        got: Share of the test graphs whose interval holds the truth, the mean over the targets.
        half_widths: Half the width of the interval of each target.
    """

    asked: float
    got: float
    half_widths: tuple[float, ...]


def score_model(task: Task, prediction: Doubles, truth: Doubles, seed: int = 0) -> list[Scored]:
    """All metrics of a model on the test part, the metric of the task first.

    Args:
        task: Names the metric.
        prediction: Predictions as :func:`pfgnn.training.metrics.score` reads them, [R, C].
        truth: Targets, [R, C'].
        seed: Seed of the resamples.
    """
    z, y = torch.from_numpy(prediction), torch.from_numpy(truth.astype(np.float64))
    try:
        values = _metrics(task, z, y)
    except InputError:  # such as one class alone in the test part
        return []
    rng = np.random.default_rng(seed)
    found = {name: np.full(RESAMPLES, np.nan) for name in values}
    for number in range(RESAMPLES):
        rows = torch.from_numpy(rng.integers(0, len(z), len(z)))
        try:
            for name, value in _metrics(task, z[rows], y[rows]).items():
                found[name][number] = value
        except InputError:  # a resample without one of the classes says nothing
            continue
    known = int((~y.isnan()).any(1).sum())
    return [Scored(name, value, found[name], known) for name, value in values.items()]


def _interval(values: Doubles) -> tuple[float, float] | None:
    known = values[np.isfinite(values)]
    if len(known) <= RESAMPLES / 2:
        return None
    low, high = np.quantile(known, [0.025, 0.975]).tolist()
    return low, high


def _metrics(task: Task, z: Tensor, y: Tensor) -> dict[str, float]:
    """The metrics without log_mae, which is minus infinity for a target that is always right."""
    return {name: value for name, value in score(task, z, y).items() if name != "log_mae"}


def coverages(errors: Doubles, scores: Sequence[Doubles]) -> list[Coverage]:
    """The coverage of conformal intervals on the test part.

    Args:
        errors: |truth - prediction| of the test part, [R, C]. NaN means unknown.
        scores: For each target, |truth - prediction| of the graphs held out for calibration, ascending.
    """
    found = []
    for asked in ASKED:
        try:
            half = [conformal_quantile(of, asked) for of in scores]
        except InputError:  # there are too few graphs for this coverage
            continue
        inside = [np.mean(column[~np.isnan(column)] <= q) for column, q in zip(errors.T, half, strict=True)]
        found.append(Coverage(asked, float(np.mean(inside)), tuple(half)))
    return found
