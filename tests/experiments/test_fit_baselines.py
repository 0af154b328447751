"""Simple models beside a fitted one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.experiments.run_samples import TARGETS, packed, small

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.config import Config, DataConfig, ModelConfig
from pfgnn.experiments.fit import FitOptions, Given, fit
from pfgnn.experiments.fit_baselines import (
    backbone_config,
    constant,
    linear,
    make_baselines,
    random_forest,
    train_backbone,
)
from pfgnn.experiments.predict import load_run
from pfgnn.graphs import Graph, random_graph
from pfgnn.model.rivals import Alone
from pfgnn.training.metrics import as_scores, score

NUMBER = Task("graph", 1, "l1", "mae")
CLASSES = Task("graph", 3, "cross_entropy", "mean_roc_auc")
LABELS = Task("graph", 3, "binary_cross_entropy", "roc_auc")
# Half of the molecules have a nitrogen.
SMILES = [f"{'C' * n}{'N' if n % 2 else 'O'}{'C' * (n % 5)}" for n in range(1, 41)]


def points(y: object, task: Task) -> Dataset:
    rows = len(np.asarray(y))
    return Dataset.from_graphs([Graph.from_edges(1, [])] * rows, np.asarray(y), task)


def scored(task: Task, prediction: np.ndarray[tuple[int, int], np.dtype[np.float64]], y: object) -> dict[str, float]:
    return score(task, torch.from_numpy(prediction), torch.tensor(y))


def test_the_constant_is_the_median_the_majority_or_the_share() -> None:
    y = [[1.0], [2.0], [10.0], [np.nan], [99.0]]
    found = constant(points(y, NUMBER), np.arange(4), 3).prediction
    assert found.tolist() == [[2.0]] * 3
    classes = constant(points([[0], [1], [1], [2]], CLASSES), np.arange(4), 3).prediction
    assert scored(CLASSES, classes, [[1], [1], [2]]) == {"mean_roc_auc": 0.5, "accuracy": pytest.approx(2 / 3)}
    known = [[0.0, 1.0, 0.0], [1.0, np.nan, 0.0], [1.0, 1.0, 0.0]]
    labels = constant(points(known, LABELS), np.arange(3), 2).prediction
    np.testing.assert_allclose(1 / (1 + np.exp(-labels)), [[2 / 3, 1.0, 0.0]] * 2, atol=1e-8)
    assert scored(LABELS, labels, [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])["roc_auc"] == 0.5


def test_probabilities_become_scores() -> None:
    p = np.array([[0.2, 0.8], [0.0, 1.0]])
    assert np.isfinite(as_scores(p, LABELS)).all()
    np.testing.assert_allclose(torch.from_numpy(as_scores(p, LABELS)).sigmoid(), p, atol=1e-8)
    np.testing.assert_allclose(torch.from_numpy(as_scores(p, CLASSES)).softmax(-1), p, atol=1e-8)
    assert as_scores(p, NUMBER) is p


def test_the_linear_part_alone_knows_what_is_a_sum(seed: int) -> None:
    """The target is a sum over nodes and edges, with a little noise. Half of the graphs are for the test."""
    rng = np.random.default_rng(seed)
    graphs = [random_graph(int(n), int(n), rng) for n in rng.integers(4, 12, 80)]
    y = np.array([3.0 * graph.num_nodes + rng.normal(0, 0.1) for graph in graphs])
    found = linear(Dataset.from_graphs(graphs, y), np.arange(40), np.arange(40, 80))
    assert np.abs(found.prediction[:, 0] - y[40:]).mean() < 0.2
    assert np.abs(np.median(y[:40]) - y[40:]).mean() > 1  # the control, a constant


def test_the_backbone_has_as_many_layers_as_all_steps_together() -> None:
    model = ModelConfig(layers=1, step_layers=4, steps=2, particles=16)
    alone = backbone_config(Config(DataConfig("x"), model)).model
    assert (alone.layers, alone.steps, alone.particles) == (9, 0, 1)
    same = backbone_config(Config(DataConfig("x"), ModelConfig(layers=3, steps=1))).model
    assert same.layers == 6


def test_the_backbone_is_trained_once(tmp_path: Path) -> None:
    config = small(packed(tmp_path, TARGETS), {"epochs": 1})
    record = train_backbone(config, tmp_path / "backbone", "cpu")
    assert record["results"]["test"]["metric"] == "mae"
    assert isinstance(load_run(tmp_path / "backbone", "cpu").model, Alone)
    assert train_backbone(config, tmp_path / "backbone", "cpu") == record
    moved = replace(config, data=replace(config.data, name=str(tmp_path / "moved.pfgnn")))
    assert train_backbone(moved, tmp_path / "backbone", "cpu") == record
    other = replace(config, model=replace(config.model, width=9))
    with pytest.raises(InputError, match=r"belongs to another run: model\.width was 8 there, but is 9 here"):
        train_backbone(other, tmp_path / "backbone", "cpu")


def test_a_test_graph_that_is_larger_than_all_others_is_not_told_twice(tmp_path: Path) -> None:
    """The fit tells it. A warning of the backbone's predictions would be an error in this test."""
    graphs = [Graph.from_edges(n, [(v, v + 1) for v in range(n - 1)]) for n in [3, 4, 5] * 10 + [9]]
    splits = {"train": np.arange(24), "validation": np.arange(24, 27), "test": np.arange(27, 31)}
    dataset = Dataset.from_graphs(graphs, np.arange(31.0), splits=splits)
    changes = {"training.updates": 1, "model.width": 4, "model.particles": 2}
    fit(Given(dataset), tmp_path / "model", FitOptions(split="given", device="cpu", draws=1, changes=changes))
    found = make_baselines(tmp_path / "model", [], "cpu")
    assert [model.name for model in found] == ["constant", "linear part alone", "backbone alone"]


@pytest.mark.parametrize("task", [NUMBER, CLASSES, LABELS], ids=["number", "classes", "labels"])
def test_a_forest_learns_from_fingerprints(task: Task) -> None:
    """The target is whether there is a nitrogen, which a fingerprint tells. As a control, the constant does not."""
    pytest.importorskip("rdkit", reason="needs the extra chem")
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    nitrogen = np.array([[float("N" in smiles)] for smiles in SMILES])
    y = nitrogen.copy()
    if task is LABELS:
        y = np.concatenate([nitrogen, np.where(np.arange(40)[:, None] < 3, np.nan, 1 - nitrogen), nitrogen], axis=1)
    dataset = Dataset.from_smiles(SMILES, y.astype(np.int64) if task is CLASSES else y, task=task)
    train, test = np.arange(30), np.arange(30, 40)
    found = random_forest(SMILES, dataset, train, test)
    assert found is not None
    assert found.prediction.shape == (10, task.outputs)
    assert found.molecules == ([30, 27, 30] if task is LABELS else [30])
    simple = constant(dataset, train, 10)
    good, bad = (
        score(task, torch.from_numpy(of.prediction), torch.from_numpy(dataset.y[test])) for of in (found, simple)
    )
    if task is NUMBER:
        assert good["mae"] < 0.2 < bad["mae"]
    else:
        assert good[task.metric] > 0.9 > bad[task.metric]


def test_a_missing_package_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.ensemble", None)
    assert random_forest([], points([[1.0]], NUMBER), np.arange(1), np.arange(1)) is None
