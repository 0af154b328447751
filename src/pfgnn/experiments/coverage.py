"""How often conformal intervals and sets hold the truth, measured over many random splits of held-out graphs."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.argument_checks import check_positive
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError
from pfgnn.experiments.calibration import calibrate, probabilities

Flags = npt.NDArray[np.bool_]


class Coverage(NamedTuple):
    """The result of one split.

    Fields:
        covered: Share of the true values that their interval or set holds.
        control: The same for the control. For numbers it is the interval from the Monte Carlo standard error alone, for
            classes the set of the most probable classes that together reach the coverage, without calibration.
        size: Mean length of the intervals, or mean number of classes in a set.
        by_class: For one column of classes or labels, the share by class; else empty.
        loss: For classes, the mean -log of the probability of the true class, before and after calibration; else empty.
    """

    covered: float
    control: float
    size: float
    by_class: list[float]
    loss: list[float]


def coverage_over_splits(
    outputs: Sequence[Tensor], y: npt.NDArray[Any], task: Task, coverage: float, splits: int = 20, seed: int = 0
) -> list[Coverage]:
    """Divide graphs at random into halves, calibrate on one and measure on the other, again and again.

    Args:
        outputs: Predictions of each draw, see :func:`pfgnn.experiments.calibration.calibrate`. No graph of them may
            have been used in training or validation.
        y: The targets.
        task: Says what the targets are.
        coverage: The coverage that is asked for.
        splits: Number of splits.
        seed: Seed of the splits.
    """
    check_positive("splits", splits)
    if len(y) < 2:
        raise InputError(f"there must be at least 2 graphs to calibrate and to measure, but there are {len(y)}")
    random = np.random.default_rng(seed)
    found = []
    for _ in range(splits):
        order = random.permutation(len(y))
        held, test = order[: len(y) // 2], order[len(y) // 2 :]
        measure = _numbers if task.loss == "l1" else _classes
        found.append(
            measure([of[held] for of in outputs], y[held], [of[test] for of in outputs], y[test], task, coverage)
        )
    return found


def _numbers(
    held: list[Tensor], y_held: npt.NDArray[Any], test: list[Tensor], y: npt.NDArray[Any], task: Task, coverage: float
) -> Coverage:
    q = calibrate(held, y_held, task).quantiles(coverage)
    draws = torch.stack([of.double() for of in test])  # [R, n, C]
    noise = draws.std(0).numpy() / math.sqrt(len(draws)) if len(draws) > 1 else np.zeros(y.shape)
    errors, known = np.abs(draws.mean(0).numpy() - y), ~np.isnan(y)
    normal = NormalDist().inv_cdf((1 + coverage) / 2)
    return Coverage(
        float((errors <= q)[known].mean()),
        float((errors <= normal * noise)[known].mean()),
        float(2 * q.mean()),
        [],
        [],
    )


def _classes(
    held: list[Tensor], y_held: npt.NDArray[Any], test: list[Tensor], y: npt.NDArray[Any], task: Task, coverage: float
) -> Coverage:
    calibration = calibrate(held, y_held, task)
    known, q = ~np.isnan(y.astype(np.float64)), calibration.quantiles(coverage)
    limits = q if calibration.by_class else q[:, None]  # of classes, or of targets with two classes each
    draws = torch.stack([of.double() for of in test])
    before, after = (
        _by_class(probabilities(draws, task, temperature).mean(0), task)
        for temperature in (1.0, calibration.temperature)
    )  # [n, targets, classes]
    truth = np.where(known, y, 0).astype(np.int64)[..., None]
    p, p_before = (np.take_along_axis(of, truth, -1)[..., 0] for of in (after, before))
    sets = 1 - after <= limits
    held_by_set = np.take_along_axis(sets, truth, -1)[..., 0]
    # The control takes classes from the most probable one on: how much probability comes before the true class?
    sooner = np.where(before > p_before[..., None], before, 0).sum(-1)
    classes = range(after.shape[-1]) if y.shape[1] == 1 else ()
    return Coverage(
        float(held_by_set[known].mean()),
        float((sooner < coverage)[known].mean()),
        float(sets.sum(-1)[known].mean()),
        [float(held_by_set[known & (y == of)].mean()) for of in classes if (known & (y == of)).any()],
        [float(-np.log(np.clip(of[known], 1e-12, 1)).mean()) for of in (p_before, p)],
    )


def _by_class(p: Tensor, task: Task) -> npt.NDArray[np.float64]:
    """Probabilities of all classes of each target, [n, targets, classes]."""
    values: npt.NDArray[np.float64] = p.numpy()
    return values[:, None, :] if task.loss in CLASS_LOSSES else np.stack([1 - values, values], -1)
