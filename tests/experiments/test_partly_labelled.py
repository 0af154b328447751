"""A run on partly labelled data: training, evaluation, predictions."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.prediction_samples import predict_run
from tests.experiments.run_samples import NODES, PARTS, TARGETS, small
from tests.training.training_samples import CLASSES, graphs

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.experiments.config import Config
from pfgnn.experiments.finished_run import evaluate_run
from pfgnn.experiments.open_run import Run
from pfgnn.experiments.run import run

LABELS = Task("graph", 2, "binary_cross_entropy", "roc_auc")
WITHOUT = [2, 13, 17]  # graphs of three parts that have no target at all


def with_gaps(task: Task) -> Dataset:
    """20 graphs. Some have no target at all, and others lack some of their targets or of their nodes' targets."""
    made = graphs(20, replace(task, loss="l1") if task is LABELS else task)
    y = (made.y > 100 if task is LABELS else made.y).astype(np.float64)
    owner = np.repeat(np.arange(20), made.node_counts) if task.level == "node" else np.arange(20)
    y[np.isin(owner, WITHOUT)] = math.nan
    if task.loss != "cross_entropy":
        y[1::4, -1] = math.nan
    return replace(made, task=task, y=y, splits=PARTS)


def written(folder: Path, data: Dataset, **training: object) -> Config:
    data.save(folder / "data.pfgnn")
    return small(folder / "data.pfgnn", {"epochs": 1, **training})


@pytest.mark.parametrize("task", [TARGETS, CLASSES, LABELS, NODES], ids=["targets", "classes", "labels", "nodes"])
def test_a_run_goes_through(tmp_path: Path, task: Task) -> None:
    data = with_gaps(task)
    config = written(tmp_path, data, standardise=task is TARGETS)
    record = run(config, tmp_path / "run", device="cpu")
    for part in ("validation", "test"):
        assert all(math.isfinite(value) for value in record["results"][part]["scores"].values())
    assert evaluate_run(tmp_path / "run", device="cpu")["results"] == record["results"]
    found = predict_run(tmp_path / "run", tmp_path / "data.pfgnn", draws=2, device="cpu")
    rows = int(data.node_counts.sum()) if task.level == "node" else 20
    assert len(found.mean) == rows  # graphs without targets are predicted too
    assert found.mean.isfinite().all()


@pytest.mark.parametrize("task", [TARGETS, NODES], ids=["targets", "nodes"])
def test_a_graph_without_any_target_contributes_nothing(tmp_path: Path, task: Task) -> None:
    """The run is the one that does not have this graph in its parts."""
    data = with_gaps(task)
    known = {name: graphs[~np.isin(graphs, WITHOUT)] for name, graphs in PARTS.items()}
    records = [
        run(written(tmp_path, replace(data, splits=splits)), tmp_path / name, device="cpu")
        for name, splits in (("all", PARTS), ("known", known))
    ]
    assert records[0]["results"] == records[1]["results"]


def test_a_target_that_a_part_does_not_know_is_named_before_training(tmp_path: Path) -> None:
    data = with_gaps(TARGETS)
    y = data.y.copy()
    y[16:, 1] = math.nan
    with pytest.raises(
        ValueError, match=r"the part 'test' of graphs must have .* but target b is NaN in all of its graphs"
    ):
        Run.open(written(tmp_path, replace(data, y=y)), "cpu")
