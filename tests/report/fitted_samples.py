"""A small fitted model for the tests of its page. Nothing is trained: the predictions are made up."""

from typing import Any

import numpy as np
import torch

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.experiments.explain import Explanation, Importance
from pfgnn.experiments.fit_baselines import constant
from pfgnn.graphs import random_graph
from pfgnn.report.fitted import Fitted, Picture, Tested

NUMBERS = Task("graph", 2, "l1", "mae", ("logp", "mass"))
CLASSES = Task("graph", 3, "cross_entropy", "accuracy", ("red", "green", "blue"))
LABELS = Task("graph", 2, "binary_cross_entropy", "roc_auc", ("toxic", "soluble"))
WILD = "<script>alert('x')</script>$\\frac$"
PARTS = {"train": np.arange(30), "validation": np.arange(30, 40), "test": np.arange(40, 60)}
RECORD = {
    "pfgnn": "0.2.0",
    "commit": None,
    "torch": "2.13.0",
    "python": "3.11.7",
    "device": "CPU, 1 thread",
    "parameters": 1234,
    "seed": 0,
    "data": "0123abcd",
    "epochs": 2,
    "updates": 20,
    "selected": "best",
    "selected_update": 10,
    "seconds": {"training": 1.5, "evaluation": 0.1},
}


def explanation(names: list[str]) -> Explanation:
    """An explanation of a path of three vertices."""
    ones = torch.ones(3, len(names))
    ends = np.array([[0, 1], [1, 2]])
    edges = Importance(ones[:2], 0.1 * ones[:2])
    return Explanation(names, ones[0], 0.1 * ones[0], Importance(-ones, 0.1 * ones), edges, ends)


def fitted(task: Task = NUMBERS, noise: float = 0.2, **changed: Any) -> Fitted:
    """A fitted model of 60 random graphs, whose predictions differ from the truth by noise."""
    rng = np.random.default_rng(0)
    graphs = [random_graph(int(n), int(n), rng) for n in rng.integers(5, 12, 60)]
    y: Any = rng.normal(size=(60, task.outputs))
    if task.loss != "l1":
        y = rng.integers(0, 3, (60, 1)) if task is CLASSES else rng.integers(0, 2, (60, 2)).astype(float)
    dataset = Dataset.from_graphs(graphs, y, task, splits=PARTS)
    truth = dataset.y[PARTS["test"]].astype(np.float64)
    mean = truth + noise * rng.normal(size=truth.shape)
    if task is CLASSES:
        mean = np.eye(3)[truth[:, 0].astype(int)] * (1 - noise) + noise / 3
    elif task is LABELS:
        mean = np.clip(np.abs(truth - noise * rng.random(truth.shape)), 0, 1)
    names = [f"predicted {name}" for name in task.targets]
    test = Tested(PARTS["test"], mean, np.full(mean.shape, 0.01))
    lines = [{"epoch": epoch, "loss": 1 / epoch, "validation": 2 / epoch} for epoch in (1, 2)]
    values: dict[str, Any] = {
        "title": f"{task.targets[0]} of own.csv",
        "dataset": dataset,
        "parts": PARTS,
        "names": names,
        "test": test,
        "baselines": [constant(dataset, PARTS["train"], 20)],
        "metrics": {"this model": lines},
        "record": RECORD,
        "config": "data:\n  name: own.pfgnn\n",
        "calibration": [np.sort(np.abs(noise * rng.normal(size=50))) for _ in task.targets]
        if task.loss == "l1"
        else None,
        "pictures": [
            Picture(row, why, row % 2 % len(names), explanation(names), "2.5 times as far." if why == "unlike" else "")
            for row, why in ((4, "worst"), (5, "uncertain"), (6, "unlike"))
        ],
    }
    return Fitted(**values | changed)
