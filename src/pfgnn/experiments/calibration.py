"""Calibration of a model on graphs that were held out: conformal intervals, sets of classes, and a temperature.

**Split conformal prediction.** The model predicts n held-out graphs, and each gets a score that is large if the
prediction is bad: |y - ŷ| for a number, 1 - p_y for a class. The ⌈(n + 1) c⌉-th smallest score q bounds the score of a
new graph with probability at least c, if the new graph comes from where the held-out ones come from. So the interval
is ŷ ± q. This holds for every model, a bad one has wide intervals. Each class has a q of its own, from the held-out
graphs of this class, and the set holds all classes with 1 - p ≤ q. So a rare class is covered as often as others.

**Temperature.** Probabilities are softmax(z / T) or σ(z / T), with the T under which the held-out classes are the most
likely. It changes no ranking of classes within a draw.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.argument_checks import check_number
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError, shown
from pfgnn.files import check_version, read_json, reading, write_json

CALIBRATION_FILE = "calibration.json"
FORMAT = 1
TEMPERATURES = np.exp(np.linspace(np.log(0.1), np.log(10.0), 401))

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """What was learned from the held-out graphs.

    Args:
        scores: For each target, or each class, its scores in ascending order. In files of earlier versions, all classes
            share one list.
        temperature: T for probabilities; 1 for a regression.
        draws: Draws of the predictions of the held-out graphs.
        by_class: Whether the scores are those of classes.
    """

    scores: tuple[Scores, ...]
    temperature: float = 1.0
    draws: int = 16
    by_class: bool = False

    def quantiles(self, coverage: float) -> Scores:
        """q of each target, or of each class, shape [C].

        Args:
            coverage: Share of new graphs that should be covered, above 0 and below 1.
        """
        check_coverage(coverage)
        if self.by_class:
            q = np.empty(len(self.scores))
            for group in self.groups(coverage):
                q[group] = conformal_quantile(np.sort(np.concatenate([self.scores[of] for of in group])), coverage)
            return q
        several = len(self.scores) > 1
        return np.array(
            [
                conformal_quantile(of, coverage, f"target {number}" if several else "")
                for number, of in enumerate(self.scores)
            ]
        )

    def groups(self, coverage: float) -> list[list[int]]:
        """The classes that share a q. Each has its own, but the rarest are joined until they have enough graphs.

        Args:
            coverage: See :meth:`quantiles`.
        """
        needed, rare, total = least_graphs(coverage), list[int](), 0
        by_count = sorted(range(len(self.scores)), key=lambda of: len(self.scores[of]))
        while by_count and (len(self.scores[by_count[0]]) < needed or 0 < total < needed):
            rare.append(by_count.pop(0))
            total += len(self.scores[rare[-1]])
        return [*([rare] if rare else []), *([of] for of in by_count)]

    def some_quantiles(self, coverage: float) -> Scores:
        """The same, but NaN for a target with too few graphs, [C]. Raises an InputError only if all have too few."""
        if self.by_class:
            return self.quantiles(coverage)
        check_coverage(coverage)
        enough = [len(of) >= least_graphs(coverage) for of in self.scores]
        if not any(enough):
            return self.quantiles(coverage)
        known = zip(self.scores, enough, strict=True)
        return np.array([conformal_quantile(of, coverage) if has else np.nan for of, has in known])

    def write(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write calibration.json.

        Args:
            folder: The model folder.
            record: Record of the run whose model was calibrated.
        """
        scores = [[float(f"{score:.9g}") for score in of] for of in self.scores]
        write_json(
            folder / CALIBRATION_FILE,
            {
                "format": FORMAT,
                "run": run_of(record),
                "temperature": self.temperature,
                "draws": self.draws,
                "scores": scores,
            },
        )


def run_of(record: Mapping[str, Any]) -> str:
    """A checksum that tells runs apart: of the data, the seed, the times and the results.

    Args:
        record: Record of the run.
    """
    told = {key: record.get(key) for key in ("data", "seed", "updates", "seconds", "results")}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def read_calibration(folder: Path, task: Task, record: Mapping[str, Any]) -> Calibration | None:
    """Read calibration.json of a model folder; None if there is none.

    Args:
        folder: The model folder.
        task: Task of the model.
        record: Record of its run. Files of earlier versions do not say of which run they are.
    """
    path = folder / CALIBRATION_FILE
    if not path.exists():
        return None
    content = read_json(path)
    with reading(path, "be the calibration of a model, as `pfgnn fit` writes it"):
        check_version(path, content.get("format"), FORMAT)
        if content.get("run", run_of(record)) != run_of(record):
            raise InputError(f"{path} must be the calibration of this model, but it is that of another one")
        scores = tuple(np.array(of, dtype=np.float64) for of in content["scores"])
        by_class = task.loss in CLASS_LOSSES and len(scores) > 1
        found = Calibration(scores, float(content["temperature"]), int(content["draws"]), by_class)
    if len(scores) != task.outputs and (by_class or task.loss not in CLASS_LOSSES):
        what = "classes" if task.loss in CLASS_LOSSES else "targets"
        raise InputError(
            f"{path} must have scores of {task.outputs} {what}, as the model has, but it has {len(scores)}"
        )
    for of in scores:
        if of.ndim != 1 or not np.isfinite(of).all() or (np.diff(of, prepend=0.0) < 0).any():
            raise InputError(f"{path} must have scores that are not negative and ascend, but it has others")
    if not 0 < found.temperature < math.inf:
        raise InputError(f"{path} must have a temperature above 0, but it has {found.temperature:g}")
    return found


def check_coverage(coverage: float) -> None:
    """Raise an InputError unless a coverage lies strictly between 0 and 1."""
    if not 0 < check_number("coverage", coverage) < 1:
        raise InputError(f"coverage must be above 0 and below 1, but it is {shown(coverage)}")


def conformal_quantile(scores: Scores, coverage: float, target: str = "") -> float:
    """The ⌈(n + 1) c⌉-th smallest of n scores. Raises an InputError if n is too small for it.

    Args:
        scores: The scores, ascending, [n].
        coverage: c.
        target: Name of the target, for the message; "" if there is only one.
    """
    rank = math.ceil(round((len(scores) + 1) * coverage, 9))  # 0.9 · 10 is a little more than 9 in floating point
    if rank > len(scores):
        there = f"there {'is' if len(scores) == 1 else 'are'} {len(scores)}"
        known = f" with a known value of {target} (empty values do not count)" if target else ""
        raise InputError(
            f"a coverage of {coverage:g} needs at least {least_graphs(coverage)} graphs for calibration, but {there}"
            f"{known}; fit with more graphs or a larger calibration_fraction (--calibration-fraction), or ask for a "
            "smaller coverage"
        )
    return float(scores[rank - 1])


def chance_range(held: int, tested: int, coverage: float) -> tuple[float, float]:
    """The range of the shares of test graphs in their intervals: 95 % of draws of both parts lie in it.

    The share of all graphs that an interval holds is a beta variable, so the number of test graphs in it is a
    beta-binomial one.

    Args:
        held: n, number of graphs for calibration, with n enough for the coverage.
        tested: m, number of test graphs.
        coverage: The coverage that was asked for.
    """
    a = math.ceil(round((held + 1) * coverage, 9))
    b = held + 1 - a
    log = [
        math.lgamma(tested + 1) - math.lgamma(k + 1) - math.lgamma(tested - k + 1)
        + math.lgamma(k + a) + math.lgamma(tested - k + b) - math.lgamma(tested + a + b)
        for k in range(tested + 1)
    ]  # fmt: skip
    p = np.exp(np.array(log) - max(log))
    below = np.cumsum(p) / p.sum()
    return int(np.searchsorted(below, 0.025)) / tested, int(np.searchsorted(below, 0.975)) / tested


def least_graphs(coverage: float) -> int:
    """The smallest number of held-out graphs from which intervals of a coverage can be made."""
    return math.ceil(round(coverage / (1 - coverage), 9))


def calibrate(outputs: Sequence[Tensor], y: npt.NDArray[Any], task: Task) -> Calibration:
    """Calibrate a model.

    Args:
        outputs: For each draw, the predictions of the held-out graphs [n, C]: numbers in the units of the targets, or
            logits.
        y: Their targets, [n, C] or class numbers [n, 1]. NaN means unknown.
        task: Says what the targets are.
    """
    draws = torch.stack([output.double() for output in outputs])  # [R, n, C]
    if task.loss == "l1":
        errors = np.abs(draws.mean(0).numpy() - y)
        return Calibration(tuple(np.sort(of[~np.isnan(of)]) for of in errors.T), draws=len(outputs))
    known = ~np.isnan(y.astype(np.float64))
    temperature = _temperature(draws, y, known, task)
    p = probabilities(draws, task, temperature).mean(0).numpy()
    if task.loss in CLASS_LOSSES:
        scores = tuple(np.sort(1 - p[known[:, 0] & (y[:, 0] == of), of]) for of in range(task.outputs))
    else:
        missed = np.where(y == 1, 1 - p, p)
        scores = tuple(np.sort(missed[has, column]) for column, has in enumerate(known.T))
    return Calibration(scores, temperature, len(outputs), task.loss in CLASS_LOSSES)


def probabilities(logits: Tensor, task: Task, temperature: float = 1.0) -> Tensor:
    """softmax(z / T) for classes, σ(z / T) for labels, [..., C] -> [..., C]."""
    return (logits / temperature).softmax(-1) if task.loss in CLASS_LOSSES else (logits / temperature).sigmoid()


def _temperature(draws: Tensor, y: npt.NDArray[Any], known: npt.NDArray[np.bool_], task: Task) -> float:
    """The temperature with the smallest cross-entropy of the mean probabilities.

    As in Platt's method, the wrong classes together count as one more graph. So a few graphs that are all right do
    not make the model infinitely sure.
    """
    if not known.any():
        return 1.0
    best, found = math.inf, 1.0
    for temperature in TEMPERATURES.tolist():
        p = probabilities(draws, task, temperature).mean(0).numpy()
        if task.loss in CLASS_LOSSES:
            rows = np.flatnonzero(known[:, 0])
            right = p[rows, y[rows, 0].astype(np.int64)]
        else:
            right = np.where(y == 1, p, 1 - p)[known]
        right = np.clip(right, 1e-12, 1 - 1e-12)
        loss = float(-(np.log(right).sum() + np.log(1 - right).mean()))
        if loss < best:
            best, found = loss, temperature
    return found
