"""Intervals beside the predictions of a model that was calibrated."""

import math
from collections.abc import Mapping, Sequence

import torch

from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError, counted
from pfgnn.experiments.calibration import Calibration, check_coverage, least_graphs
from pfgnn.experiments.prediction_table import Predictions

COVERAGE = 0.9  # if the user asks for none
NAMED = 5  # reasons that a warning names
Z = 1.959964  # two-sided 95 % of a normal distribution


def check_intervals(task: Task, calibration: Calibration | None, coverage: float | None) -> None:
    """Raise an InputError if intervals are asked for, but no target can have one.

    Args:
        task: Task of the model.
        calibration: Calibration of the model, or None.
        coverage: Coverage of the intervals; None if none are asked for.
    """
    if coverage is None:
        return
    check_coverage(coverage)
    if task.loss != "l1" and task.loss not in CLASS_LOSSES:
        raise InputError("--coverage is for numbers and classes, but this model predicts several labels of yes and no")
    if calibration is None:
        raise InputError(
            "a model with intervals must come from `pfgnn fit` with graphs held out for calibration, but it does not"
        )
    calibration.some_quantiles(coverage)


def usual_coverage(task: Task, calibration: Calibration | None) -> tuple[float | None, str]:
    """The coverage of intervals or sets if the user asks for none: 0.9 if it can be had, otherwise None, and why.

    Args:
        task: Task of the model.
        calibration: Calibration of the model. Without one, no reason is given.
    """
    if (task.loss != "l1" and task.loss not in CLASS_LOSSES) or calibration is None:
        return None, ""
    try:
        check_intervals(task, calibration, COVERAGE)
    except InputError as error:
        return None, str(error)
    return COVERAGE, ""


def with_intervals(
    found: Predictions, task: Task, calibration: Calibration | None, coverage: float | None
) -> Predictions:
    """The predictions of numbers with their conformal intervals, if a coverage is given; NaN if there is none."""
    if coverage is None or calibration is None or task.loss != "l1":
        return found
    half = torch.from_numpy(calibration.some_quantiles(coverage))
    return found._replace(interval=(torch.stack([found.mean - half, found.mean + half], -1), coverage))


def say_no_interval(targets: Mapping[str, int], coverage: float) -> str:
    """Which of several targets have no interval, and why; "" if all have one.

    Args:
        targets: For each target the number of graphs for calibration with a known value.
        coverage: Coverage of the intervals.
    """
    needed = least_graphs(coverage)
    few = [f"{name} ({count} known)" for name, count in targets.items() if count < needed]
    if not few:
        return ""
    which = "target has" if len(few) == 1 else "targets have"
    return (
        f"{len(few)} {which} no interval, because {100 * coverage:g} % needs {needed} graphs for calibration with a "
        f"known value: {', '.join(few)}"
    )


def say_joined(names: Sequence[str], calibration: Calibration, coverage: float) -> str:
    """Which classes count together, because some have too few graphs for calibration; "" if each counts by itself.

    Args:
        names: Names of the classes.
        calibration: Calibration of the model.
        coverage: Coverage of the sets.
    """
    joined = next((group for group in calibration.groups(coverage) if len(group) > 1), [])
    if not joined:
        return ""
    said = " and ".join(f"{names[of]} ({counted(len(calibration.scores[of]), 'graph')})" for of in joined)
    return (
        f"{said} count together, because a class needs {least_graphs(coverage)} graphs for calibration; so of a rare "
        "one far fewer may be held"
    )


def with_sets(found: Predictions, calibration: Calibration | None, coverage: float | None) -> Predictions:
    """The predictions of classes with their conformal sets, if a coverage is given. A graph without one has none."""
    if coverage is None or calibration is None or not found.classes:
        return found
    return found._replace(sets=(1 - found.mean <= torch.from_numpy(calibration.quantiles(coverage)), coverage))


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of Wilson of a share. It has a length also if the share is 0 or 1.

    Args:
        share: Share of right answers, from 0 to 1.
        count: Number of answers, at least 1.
    """
    middle = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z / (1 + Z**2 / count) * math.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


class Outside:
    """Which graphs are unlike all training graphs, counted by the reason."""

    def __init__(self) -> None:
        self.graphs = 0
        self.reasons: dict[str, tuple[int, int]] = {}  # the first graph, and how many there are

    def add(self, found: Predictions) -> None:
        """Count the graphs of some predictions."""
        if found.outside is None:
            return
        for graph, why in dict(zip(found.where[:, 0].tolist(), found.outside, strict=True)).items():
            if why:  # all nodes of a graph have its reason
                self.graphs += 1
                for reason in why.split(", "):
                    first, count = self.reasons.get(reason, (graph, 0))
                    self.reasons[reason] = (first, count + 1)

    def say(self) -> str:
        """The warning about these graphs; "" if there are none. The most frequent reasons come first."""
        if not self.graphs:
            return ""
        which = "1 graph is" if self.graphs == 1 else f"{self.graphs} graphs are"
        order = sorted(self.reasons.items(), key=lambda item: -item[1][1])
        named = "; ".join(
            f"{why}: graph {first}" if count == 1 else f"{why}: {count} graphs, such as graph {first}"
            for why, (first, count) in order[:NAMED]
        )
        more = f"; and {len(order) - NAMED} more reasons" if len(order) > NAMED else ""
        return f"{which} unlike the training data ({named}{more}), so predictions and intervals may be far off there"
