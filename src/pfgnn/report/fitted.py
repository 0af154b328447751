"""What the page of a fitted model shows, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfgnn.data.dataset import Dataset
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.experiments.explain import Explanation
from pfgnn.experiments.fit_baselines import Baseline
from pfgnn.graphs.arrays import IntArray
from pfgnn.report.fit_scores import Target, split_targets
from pfgnn.report.metrics_reader import Line

Doubles = npt.NDArray[np.float64]


class Words(NamedTuple):
    """What the things of the data are called."""

    graph: str
    graphs: str
    vertex: str
    vertices: str
    edges: str


GRAPHS = Words("graph", "graphs", "vertex", "vertices", "edges")
MOLECULES = Words("molecule", "molecules", "atom", "atoms", "bonds")


class Tested(NamedTuple):
    """The predictions of the test part.

    Fields:
        graphs: Numbers of the graphs in the dataset, [R].
        mean: Predictions: numbers in the units of the targets, or probabilities, [R, C].
        error: Their Monte Carlo standard errors, [R, C].
        labels: What each graph is called in the input, such as its id or "line 7"; empty if that is not known.
    """

    graphs: IntArray
    mean: Doubles
    error: Doubles
    labels: Sequence[str] = ()


class Picture(NamedTuple):
    """A test graph to draw.

    Fields:
        row: Its row in the test part.
        why: Why it is shown: "worst", "uncertain", or "unlike" the training graphs.
        output: Number of the output that is explained.
        explanation: What its prediction depends on.
        note: What else is to be said about it.
    """

    row: int
    why: str
    output: int
    explanation: Explanation
    note: str = ""


@dataclass(frozen=True)
class Fitted:
    """What the page of a fitted model shows.

    Args:
        title: What was predicted, such as "logp of molecules.csv".
        dataset: The graphs with their targets, at graph level.
        parts: Numbers of the graphs of each part; one of them is "train".
        names: Names of the outputs.
        test: Predictions of the test part; None without one.
        baselines: Simple models, tested on the same part.
        metrics: Metrics of the training, by the name of the model. The model itself comes first.
        record: The record of the run.
        config: All settings, as YAML.
        calibration: For each target, |truth - prediction| of the graphs held out for calibration, ascending; None
            without them. Of a task with classes it is not used.
        pictures: Test graphs to draw.
        classes: Number of each graph's isomorphism class, [G]; None if unknown.
        wl_classes: Number of each graph's 1-WL class, [G]; None if unknown.
        smiles: SMILES of each graph; empty if there are none.
        rejects: Lines of the input that could not be read, with their reasons.
        about: Further facts by name, such as the source.
        folder: The model folder, for the commands that the page tells.
        target: Name of the target of a task with classes; "" if it is not known.
    """

    title: str
    dataset: Dataset
    parts: Mapping[str, IntArray]
    names: Sequence[str]
    test: Tested | None
    baselines: Sequence[Baseline]
    metrics: Mapping[str, Sequence[Line]]
    record: Mapping[str, Any]
    config: str
    calibration: Sequence[Doubles] | None = None
    pictures: Sequence[Picture] = ()
    classes: IntArray | None = None
    wl_classes: IntArray | None = None
    smiles: Sequence[str] = ()
    rejects: Sequence[str] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    folder: str = "MODEL"
    target: str = ""

    @property
    def task(self) -> Task:
        """The task of the dataset."""
        return self.dataset.task

    @property
    def truth(self) -> Doubles:
        """Targets of the test part, [R, C']. NaN means unknown."""
        assert self.test is not None
        return self.dataset.y[self.test.graphs].astype(np.float64)

    @property
    def words(self) -> Words:
        """What to call the graphs and their parts."""
        return MOLECULES if self.smiles else GRAPHS

    @property
    def targets(self) -> list[Target]:
        """The targets, one by one."""
        return split_targets(self.task, self.target_names())

    def target_names(self) -> list[str]:
        """A name for each column of the targets."""
        columns = self.dataset.y.shape[1]
        if self.task.loss in CLASS_LOSSES:
            return [self.target or "the class"]
        if len(self.task.targets) == columns:
            return list(self.task.targets)
        return ["target"] if columns == 1 else [f"target {column}" for column in range(columns)]

    def class_names(self) -> list[str]:
        """A name for each class of a task with classes."""
        named = len(self.task.targets) == self.task.outputs
        return list(self.task.targets) if named else [f"class {c}" for c in range(self.task.outputs)]


def graph_errors(task: Task, test: Tested, truth: Doubles, scale: Doubles) -> Doubles:
    """How wrong the prediction of each target is, [R, C']; for classes 1 - p of the true class. NaN means unknown.

    Args:
        task: The task.
        test: The predictions.
        truth: The targets.
        scale: Typical size of each target, by which an error is divided, [C].
    """
    if task.loss in CLASS_LOSSES:
        known = ~np.isnan(truth[:, 0])
        found = np.full((len(truth), 1), np.nan)
        rows = np.flatnonzero(known)
        found[rows, 0] = 1 - test.mean[rows, truth[rows, 0].astype(np.int64)]
        return found
    return np.abs(test.mean - truth) / (scale if task.loss == "l1" else 1.0)


def graph_uncertainty(task: Task, test: Tested, scale: Doubles) -> Doubles:
    """How unsure the model is of each graph, [R]: the noise of its draws, or how far its classes are from certain."""
    if task.loss == "l1":
        return (test.error / scale).max(axis=1)
    if task.loss in CLASS_LOSSES:
        return 1 - test.mean.max(axis=1)
    return (0.5 - np.abs(test.mean - 0.5)).max(axis=1)


def target_scale(dataset: Dataset, train: IntArray) -> Doubles:
    """Standard deviation of each target in the training part, or 1 where it is 0, [C']."""
    std = np.nanstd(dataset.y[train].astype(np.float64), axis=0)
    return np.where(std > 0, std, 1.0)
