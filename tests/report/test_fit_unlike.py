"""Test graphs that differ from the training graphs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.run_samples import TARGETS, packed, small

from pfgnn.data import Dataset
from pfgnn.experiments.predict import load_run
from pfgnn.experiments.run import run
from pfgnn.graphs import random_graph
from pfgnn.report import fitted
from pfgnn.report.fit_gather import choose_pictures, differences
from pfgnn.report.fit_unlike import ROWS, Unlike, compare_with_training, nearest_distance
from pfgnn.report.fitted import MOLECULES


def test_the_distance_to_the_nearest_points() -> None:
    known = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [100.0]])
    np.testing.assert_allclose(nearest_distance(np.array([[0.0], [10.0]]), known), [2.0, 8.0])  # mean of 0, 1, 2, 3, 4
    np.testing.assert_allclose(nearest_distance(known[:2], known[:2], itself=True), [1.0, 1.0])
    many = np.random.default_rng(0).normal(size=(ROWS + 3, 1))
    apart = np.sort(np.abs(many - known.T), axis=1)[:, :5].mean(axis=1)
    np.testing.assert_allclose(nearest_distance(many, known), apart, atol=1e-6)  # squares up to 1e4, their roots


def test_the_differences_in_words() -> None:
    flags = np.array([True]), np.array([False])
    said = differences(Unlike(np.array([2.54]), *flags), 0, MOLECULES)
    assert said == (
        "2.5 times as far from its nearest training molecules as is usual. "
        "It has more atoms than any training molecule."
    )
    said = differences(Unlike(np.array([1.0]), *reversed(flags)), 0, MOLECULES)
    assert said.endswith("It has a kind of atom that no training molecule has.")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run of a regression."""
    folder = tmp_path_factory.mktemp("unlike")
    run(small(packed(folder, TARGETS)), folder / "run", device="cpu")
    return folder / "run"


def test_a_graph_that_is_unlike_the_training_graphs_is_found_and_drawn(model: Path) -> None:
    """The predictions have no noise of draws, so nothing else says which one to trust less."""
    trained = load_run(model, "cpu")
    rng = np.random.default_rng(0)
    graphs = [*(random_graph(8, 10, rng) for _ in range(20)), random_graph(30, 200, rng), random_graph(8, 10, rng)]
    outputs = trained.task.outputs
    dataset = Dataset.from_graphs(graphs, rng.normal(size=(22, outputs)), trained.task)
    dataset = replace(dataset, splits={"train": np.arange(15), "test": np.arange(15, 22)})
    test = fitted.Tested(np.arange(15, 22), np.zeros((7, outputs)), np.zeros((7, outputs)))
    found = compare_with_training(trained, dataset, test.graphs)
    assert found is not None
    assert int(found.distance.argmax()) == 5
    assert found.larger.tolist() == [False] * 5 + [True, False]
    assert not found.new.any()
    pictures = choose_pictures(trained, dataset, test, [], count=2)
    assert [picture.why for picture in pictures] == ["worst", "worst", "unlike", "unlike"]
    assert pictures[2].row == 5
    assert pictures[2].note.endswith("It has more vertices than any training graph.")
    alone = replace(dataset, splits={"train": np.array([0, 0]), "test": np.arange(15, 22)})
    assert compare_with_training(trained, alone, test.graphs) is None
