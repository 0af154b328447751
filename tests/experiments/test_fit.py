"""The parts and the settings that a fit chooses, for few graphs and for many."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.estimators.samples import GRAPHS, KINDS, SIZES

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError
from pfgnn.experiments.config import Config
from pfgnn.experiments.fit import FitOptions, Given, fit
from pfgnn.experiments.fit_defaults import check_changes, choose_config
from pfgnn.experiments.fit_parts import Shares, check_weights, keep_parts, make_parts
from pfgnn.graphs import Graph

CLASSES = Dataset.from_graphs(GRAPHS, (KINDS == "ring").astype(int))


def single_vertices(count: int, features: bool = False) -> Dataset:
    """Graphs of one vertex, with edge features that no edge has."""
    return Dataset.from_arrays(
        "many",
        Task("graph", 1, "l1", "mae"),
        node_counts=np.ones(count, dtype=np.int64),
        edge_counts=np.zeros(count, dtype=np.int64),
        edges=np.zeros((2, 0), dtype=np.int64),
        y=np.arange(count)[:, None] / 7,
        x=np.zeros((count, 1), dtype=np.int64) if features else None,
        edge_attr=np.zeros((0, 1), dtype=np.int64) if features else None,
    )


@pytest.mark.parametrize(
    ("graphs", "sizes"),
    [
        (8, (5, 1, 1, 1)),
        (50, (20, 10, 10, 10)),
        (1000, (700, 100, 100, 100)),
        (500_000, (470_000, 10_000, 10_000, 10_000)),
    ],
)
def test_sizes_of_parts(graphs: int, sizes: tuple[int, ...]) -> None:
    assert tuple(Shares(test=None).sizes(graphs).values()) == sizes


def test_parts_do_not_overlap_and_hold_all_classes() -> None:
    parts = make_parts(CLASSES, Shares(test=None), seed=0)
    assert list(parts) == ["train", "validation", "calibration", "test"]
    together = np.concatenate(list(parts.values()))
    assert np.array_equal(np.sort(together), np.arange(len(GRAPHS)))
    for graphs in parts.values():
        assert abs(CLASSES.y[graphs].mean() - 0.5) <= 0.1
    assert not np.array_equal(make_parts(CLASSES, Shares(), seed=1)["validation"], parts["validation"])


def test_a_rare_label_is_divided_in_equal_proportions() -> None:
    y = np.zeros((200, 2))
    y[::2, 0], y[:10, 1] = 1, 1
    task = Task("graph", 2, "binary_cross_entropy", "roc_auc")
    parts = make_parts(replace(single_vertices(200), y=y, task=task), Shares(test=None), seed=0)
    assert {name: int(y[part, 1].sum()) for name, part in parts.items()} == {
        "train": 7,
        "validation": 1,
        "calibration": 1,
        "test": 1,
    }


def test_graphs_without_a_target_are_in_no_part() -> None:
    y = SIZES.copy()
    y[:20] = np.nan
    parts = make_parts(Dataset.from_graphs(GRAPHS, y), Shares(test=None), seed=0)
    assert np.concatenate(list(parts.values())).min() == 20


def test_graphs_of_weight_0_are_in_no_part() -> None:
    weights = check_weights(np.arange(60) % 3, 60)
    parts = make_parts(CLASSES, Shares(), seed=0, weights=weights)
    assert sorted(np.concatenate(list(parts.values())).tolist()) == [graph for graph in range(60) if graph % 3]
    assert check_weights([2.5] * 60, 60) is None


@pytest.mark.parametrize("weights", [[-1.0] * 60, [np.nan] * 60, [0.0] * 60, [1.0] * 59, ["a"] * 60])
def test_wrong_weights(weights: list[Any]) -> None:
    with pytest.raises((InputError, InputTypeError), match=r"^sample_weight must "):
        check_weights(weights, 60)


def test_given_parts_are_kept() -> None:
    splits = {"train": np.arange(40), "validation": np.arange(40, 50), "test": np.arange(50, 60)}
    parts = keep_parts(CLASSES, splits, Shares(), seed=0)
    assert np.array_equal(parts["test"], splits["test"])
    assert np.array_equal(np.sort(np.concatenate([parts["train"], parts["calibration"]])), splits["train"])


@pytest.mark.parametrize("parts", [("train", "test"), ("train", "validation", "test")])
def test_what_is_drawn_from_a_given_part_has_no_copy_in_it(parts: tuple[str, ...]) -> None:
    """Each of 30 graphs is there ten times. Otherwise intervals would be too narrow."""
    made = single_vertices(300)
    copies = np.arange(300) % 30
    splits = {"train": np.arange(240), "validation": np.arange(240, 270), "test": np.arange(270, 300)}
    found = keep_parts(made, {name: splits[name] for name in parts}, Shares(), seed=0, copies=copies)
    drawn = [name for name in found if name not in parts]
    assert "calibration" in drawn
    for name in drawn:
        assert len(found[name])
        assert not np.isin(copies[found[name]], copies[found["train"]]).any()
    twice = {**splits, "train": np.repeat(np.arange(120), 2)}
    found = keep_parts(made, twice, Shares(), seed=0)
    assert not np.isin(found["calibration"], found["train"]).any()


def test_a_given_part_without_a_known_target_is_refused() -> None:
    """Otherwise a model would be fitted without the test that the user asked for."""
    y = CLASSES.y.astype(np.float64)
    y[50:] = np.nan
    splits = {"train": np.arange(50), "test": np.arange(50, 60)}
    with pytest.raises(InputError, match=r"^the part test must have a graph with a target, but none of its 10 graphs"):
        keep_parts(replace(CLASSES, y=y), splits, Shares(), seed=0)


def chosen(dataset: Dataset, *overrides: str) -> Config:
    train = np.arange(len(dataset))
    options = {"tests": ["test"], "validation": "validation", "changes": {}}
    return choose_config(dataset, train, "./data.pfgnn", 0, **options, overrides=overrides)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("graphs", "batch_size", "epochs"), [(40, 16, 200), (1000, 32, 100), (30_000, 64, 66), (500_000, 128, 10)]
)
def test_length_of_the_training(graphs: int, batch_size: int, epochs: int) -> None:
    training = chosen(single_vertices(graphs)).training
    assert (training.batch_size, training.epochs) == (batch_size, epochs)
    assert training.patience == max(epochs // 3, 10)
    assert training.standardise


def test_the_patience_follows_from_the_updates_too() -> None:
    by_updates = chosen(single_vertices(1000), "training.epochs=null", "training.updates=3000").training
    assert (by_updates.batch_size, by_updates.patience) == (32, 96 // 3)


def test_features_choose_the_model() -> None:
    plain, featured, many = (chosen(single_vertices(*of)).model for of in ((40,), (40, True), (6000, True)))
    assert (plain.backbone, plain.norm, plain.exchange) == ("gin", "batch", "mark")
    assert (featured.backbone, featured.norm, featured.exchange) == ("gine", "batch", "both")
    assert (featured.step_layers, many.step_layers) == (4, 8)
    assert not chosen(CLASSES).training.standardise
    assert (chosen(CLASSES).training.select, chosen(single_vertices(40)).training.select) == ("log_loss", "metric")


def test_positions_choose_the_marks_and_their_reach() -> None:
    corners = np.array([[0, 0, 0], [3, 4, 0]], dtype=np.float32)  # a box with a diagonal of 5
    pairs = Dataset.from_graphs([Graph(2, np.array([[0, 1]]))] * 40, np.arange(40.0))
    for scale in (1.0, 0.01):
        config = chosen(replace(pairs, pos=np.tile(scale * corners, (40, 1))))
        assert (config.data.positions, config.model.individualise) == ("distance", "position")
        assert (config.model.backbone, config.model.reach) == ("gine", 5 * scale)
    assert chosen(replace(pairs, pos=np.zeros((80, 3)))).model.reach == 1
    assert chosen(pairs).data.positions == "none"


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ((), (False, True)),  # the graphs have no features
        (("model.linear=true",), (True, True)),
        (("model.linear=false",), (False, True)),
        (("training.standardise=false",), (False, False)),
        (("model.linear=true", "training.standardise=true"), (True, True)),
    ],
)
def test_the_linear_part_and_the_scaling_change_together(changes: tuple[str, ...], kept: tuple[bool, bool]) -> None:
    check_changes({}, changes)
    config = chosen(single_vertices(40), *changes)
    assert (config.model.linear, config.training.standardise) == kept
    with pytest.raises(InputError, match=r"training\.standardise must be true if model\.linear is true"):
        check_changes({}, ("model.linear=true", "training.standardise=false"))


def test_settings_can_be_changed() -> None:
    config = chosen(single_vertices(40), "training.updates=5", "model.width=8", "training.patience=3")
    assert (config.training.updates, config.training.epochs, config.model.width) == (5, None, 8)
    assert config.training.patience == 3


def test_tasks_that_cannot_be_fitted(tmp_path: Path) -> None:
    nodes = Dataset.from_graphs(GRAPHS[:2], np.arange(6) % 2, Task("node", 2, "cross_entropy", "accuracy"))
    with pytest.raises(
        InputError, match="must have a target for each graph to be fitted, but its task is at node level"
    ):
        fit(Given(nodes), tmp_path / "model")
    three = Dataset.from_graphs(GRAPHS, (KINDS == "ring").astype(int), Task("graph", 3, "cross_entropy", "accuracy"))
    with pytest.raises(InputError, match="each class must have at least one graph, but class 2 has none"):
        fit(Given(three), tmp_path / "model")
    with pytest.raises(InputError, match="a split by scaffold needs molecules that are given as SMILES"):
        fit(Given(CLASSES), tmp_path / "model", FitOptions(split="scaffold"))
    assert not (tmp_path / "model").exists()
