"""Intervals beside the predictions of a model that was calibrated."""

import torch

from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.calibration import Calibration, check_coverage
from pfgnn.experiments.prediction_table import Predictions

COVERAGE = 0.9  # if the user asks for none


def check_intervals(task: Task, calibration: Calibration | None, coverage: float | None) -> None:
    """Raise an InputError if intervals are asked for, but cannot be given.

    Args:
        task: Task of the model.
        calibration: Calibration of the model, or None.
        coverage: Coverage of the intervals; None if none are asked for.
    """
    if coverage is None:
        return
    check_coverage(coverage)
    if task.loss != "l1":
        raise InputError("intervals are for models of numbers, but this model predicts classes, as probabilities")
    if calibration is None:
        raise InputError(
            "a model with intervals must come from `pfgnn fit` with graphs held out for calibration, but it does not"
        )
    calibration.quantiles(coverage)


def usual_coverage(task: Task, calibration: Calibration | None) -> tuple[float | None, str]:
    """The coverage of intervals if the user asks for none: 0.9 if it can be had, otherwise None, and why.

    Args:
        task: Task of the model.
        calibration: Calibration of the model. Without one, no reason is given.
    """
    if task.loss != "l1" or calibration is None:
        return None, ""
    try:
        check_intervals(task, calibration, COVERAGE)
    except InputError as error:
        return None, str(error)
    return COVERAGE, ""


def with_intervals(found: Predictions, calibration: Calibration | None, coverage: float | None) -> Predictions:
    """The predictions with their conformal intervals, if a coverage is given."""
    if coverage is None or calibration is None:
        return found
    half = torch.from_numpy(calibration.quantiles(coverage))
    return found._replace(interval=(torch.stack([found.mean - half, found.mean + half], -1), coverage))


def too_large(graphs: int, largest: int) -> str:
    """The warning about graphs that are larger than all training graphs."""
    which = "1 graph has" if graphs == 1 else f"{graphs} graphs have"
    return (
        f"{which} more vertices than the largest training graph, which has {largest}; "
        "predictions and intervals may be worse there"
    )
