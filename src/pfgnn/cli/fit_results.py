"""What `pfgnn fit` prints when it is done: the test result of each target, and those of simple models."""

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgnn.cli.console import console, say
from pfgnn.errors import InputError, counted

if TYPE_CHECKING:
    from pfgnn.data.dataset import Dataset
    from pfgnn.data.task import Task

# What a metric is called in a sentence.
METRICS = {"mae": "mean absolute error", "accuracy": "accuracy", "roc_auc": "ROC-AUC", "error_ratio": "error ratio"}
AREA = "mean_roc_auc"  # stands beside the accuracy of classes: accuracy says little if a class is rare


def say_results(folder: Path, record: dict[str, Any]) -> None:
    """Print the results of a fit, one line for each target.

    Args:
        folder: The model folder.
        record: The record of its run.
    """
    from pfgnn.data.dataset import Dataset
    from pfgnn.experiments.model_folder import DATA, TEST, read_facts
    from pfgnn.experiments.run_directory import ended_early

    facts, dataset = read_facts(folder), Dataset.open(folder / DATA)
    if facts is not None:
        sizes = ", ".join(f"{size} {name}" for name, size in facts.parts.items())
        console.print(f"Graphs: {sizes}.", highlight=False)
    for part, result in record["results"].items():
        targets = len(target_scores(result))
        if result["metric"] == "roc_auc" and targets > 1:
            value = result["scores"]["roc_auc"]
            say(f"{part.capitalize()}, mean over {targets} targets: {METRICS['roc_auc']} {value:.4g}.")
        for name, (metric, value) in target_scores(result).items():
            graphs = _known(dataset, part, name)
            said = f"{part.capitalize()}{name and f' of {name}'}: {METRICS.get(metric, metric)} {value:.4g}"
            if metric == "accuracy":
                said += _likely(value, graphs)
            if metric == "accuracy" and AREA in result["scores"]:
                said += f", ROC-AUC {result['scores'][AREA]:.4g},"
            console.print(f"{said} on {counted(graphs, 'graph')}.", highlight=False, soft_wrap=True, markup=False)
    _say_intervals(folder, dataset.task, record)
    seconds = record["seconds"]["training"]
    console.print(
        f"{record['updates']} updates in {seconds:.0f} s, {record['parameters']} parameters, {record['device']}.",
        markup=False,
    )
    if early := ended_early(record):
        say(early)
    tested = f", the test part in {TEST}" if (folder / TEST).exists() else ""
    console.print(f"Wrote {folder}{tested}.", soft_wrap=True, markup=False)
    console.print(
        f"Predict new graphs with: pfgnn predict {shlex.quote(str(folder))} FILE", soft_wrap=True, markup=False
    )


def _known(dataset: "Dataset", part: str, target: str) -> int:
    """How many graphs of a part have a known value of a target.

    Args:
        dataset: The graphs.
        part: Name of the part.
        target: As :func:`target_scores` names it.
    """
    import numpy as np

    known = ~np.isnan(dataset.y[dataset.splits[part]])
    names = _names(dataset.task)
    return int((known[:, names.index(target)] if target else known.any(1)).sum())


def target_scores(result: dict[str, Any]) -> dict[str, tuple[str, float]]:
    """The metric and the score of each target by its name. With one target, or classes, the name is "".

    Args:
        result: The result of a part: its metric, and its scores, in which "mae/logp" is the score of logp.
    """
    metric, scores = result["metric"], result["scores"]
    found = [(name.partition("/")[2], value) for name, value in scores.items() if name.startswith(f"{metric}/")]
    named = {_named(name): (metric, value) for name, value in found}
    return named or {"": (metric, scores[metric])}


def _names(task: "Task") -> list[str]:
    """The names of the targets, as :func:`target_scores` has them."""
    return [_named(name) for name in task.targets or map(str, range(task.outputs))]


def _named(name: str) -> str:
    """What a target is called in a sentence. Targets without a name have a number."""
    return f"target {name}" if name.isdecimal() else name


def _likely(value: float, graphs: int) -> str:
    """The interval of the accuracy on all graphs like these, of which the test part is a sample."""
    from pfgnn.experiments.intervals import wilson

    low, high = wilson(value, graphs)
    return f" (95 % interval for all graphs like these: {low:.3g} to {high:.3g})"


def _say_intervals(folder: Path, task: "Task", record: dict[str, Any]) -> None:
    """Print half the length of the intervals of each target."""
    from pfgnn.experiments.calibration import read_calibration
    from pfgnn.experiments.intervals import COVERAGE

    calibration = read_calibration(folder, task, record)
    if calibration is None or task.loss != "l1":
        return
    try:
        half = calibration.some_quantiles(COVERAGE).tolist()
    except InputError:  # too few graphs, of which the user was warned
        return
    names = _names(task) if len(half) > 1 else [""]
    for name, length in zip(names, half, strict=True):
        if math.isnan(length):  # too few graphs have this target, of which the user was warned
            continue
        console.print(
            f"Interval{name and f' of {name}'}: {100 * COVERAGE:g} % of the true values lie within ± {length:.4g} of "
            "the prediction, for graphs like these.",
            highlight=False,
            soft_wrap=True,
            markup=False,
        )
