"""A warm start: it begins with the old weights, and calibrates only on graphs that were never trained on."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.estimators.samples import CURVED, GRAPHS, SIZES, regressor

from pfgnn.data import Dataset
from pfgnn.errors import InputError
from pfgnn.estimators import PFGNNRegressor
from pfgnn.experiments.fit_memory import graph_keys
from pfgnn.graphs import Graph

FRESH = {"epochs": 1, "random_state": None, "warm_start": True}


def numbered(count: int, first: int = 0) -> list[Graph]:
    """Single edges whose labels are numbers, all different."""
    ends = np.array([[0, 1]])
    return [Graph(2, ends, np.array([[number / 7], [0.5]])) for number in range(first, first + count)]


def parts_of(model: PFGNNRegressor, graphs: list[Graph], y: Any) -> dict[str, set[int]]:
    """The numbers of the graphs of each part, over all fits."""
    keys = graph_keys(Dataset.from_graphs(graphs, y))
    return {name: set(np.flatnonzero(np.isin(keys, used)).tolist()) for name, used in model.used_.items()}


def test_graphs_keep_their_parts() -> None:
    graphs, y = numbered(60), np.arange(60.0)
    model = regressor(**FRESH).fit(graphs, y)
    first = parts_of(model, graphs, y)
    assert [len(first[name]) for name in ("train", "validation", "calibration")] == [40, 10, 10]
    order = np.random.default_rng(0).permutation(60)
    model.fit([graphs[i] for i in order], y[order])
    assert parts_of(model, graphs, y) == first
    cold = copy.deepcopy(model).set_params(warm_start=False).fit(graphs, y)
    assert parts_of(cold, graphs, y) != first  # the control: another seed draws other parts
    more, all_y = [*graphs, *numbered(60, 60)], np.arange(120.0)
    then = parts_of(model.fit(more, all_y), more, all_y)
    assert all(first[name] <= then[name] for name in first)
    assert [len(then[name] - first[name]) for name in ("train", "validation", "calibration")] == [48, 6, 6]


def test_the_memory_is_saved(tmp_path: Path) -> None:
    graphs, y = numbered(40), np.arange(40.0)
    model = regressor(**FRESH).fit(graphs, y)
    model.save(tmp_path / "model")
    loaded = PFGNNRegressor.load(tmp_path / "model").fit(graphs, y)
    assert parts_of(loaded, graphs, y) == parts_of(model, graphs, y)


def test_calibration_needs_graphs_that_are_not_trained_on() -> None:
    graphs, y = numbered(40), np.arange(40.0)
    model = regressor(**FRESH, calibration_fraction=0).fit(graphs, y)
    model.set_params(calibration_fraction=0.2)
    with pytest.raises(InputError, match=r"calibration must have graphs that no fit before .* calibration_fraction=0"):
        model.fit(graphs, y)
    more, all_y = [*graphs, *numbered(40, 40)], np.arange(80.0)
    parts = parts_of(model.fit(more, all_y), more, all_y)
    assert len(parts["calibration"]) == 8
    assert min(parts["calibration"]) >= 40


def test_a_warm_start_on_held_out_graphs_alone() -> None:
    graphs, y = numbered(60), np.arange(60.0)
    model = regressor(**FRESH).fit(graphs, y)
    held = sorted(parts_of(model, graphs, y)["calibration"])
    model.set_params(early_stopping=False)
    with pytest.raises(InputError, match=r"train must have a graph, but a warm start holds out all .*warm_start=False"):
        model.fit([graphs[i] for i in held], y[held])


def test_keys_follow_from_the_content() -> None:
    graphs, y = numbered(3), [1.0, 2.0, 3.0]
    large = Graph(2, np.array([[0, 1]]), np.array([[1000], [2]]))
    small = Graph(2, np.array([[0, 1]]), np.array([[1], [2]]))
    keys = graph_keys(Dataset.from_graphs(graphs, y))
    assert len(set(keys.tolist())) == 3
    assert graph_keys(Dataset.from_graphs(graphs[::-1], y)).tolist() == keys[::-1].tolist()
    alone, beside = (graph_keys(Dataset.from_graphs(of, y[: len(of)])) for of in ([small], [small, large]))
    assert alone[0] == beside[0]  # x is stored in another dtype
    copies = Dataset.from_graphs([small] * 3, y)
    assert len(set(graph_keys(copies).tolist())) == 3
    swapped = graph_keys(copies.subset([2, 1, 0]))
    assert swapped.tolist() == graph_keys(copies)[::-1].tolist()  # each goes with its target


@pytest.mark.slow
def test_intervals_stay_as_wide_as_they_must_be() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)  # noise alone: it can be learned by heart, but not predicted
    graphs = [Graph(2, np.array([[0, 1]]), rng.normal(size=(2, 6))) for _ in y]
    by_heart: dict[str, Any] = {"epochs": 100, "width": 32, "particles": 1, "batch_size": 80}
    by_heart |= {"early_stopping": False, "calibration_fraction": 0.25}

    def coverage(warm: bool) -> float:
        state = np.random.RandomState(0)  # each fit draws another seed from it
        model = regressor(**by_heart | {"random_state": state}, warm_start=warm)
        for _ in range(3):
            model.fit(graphs[:100], y[:100])
            if not warm:  # the control: the old weights, but other parts
                model.used_ = {name: keys[:0] for name, keys in model.used_.items()}
                model.warm_start = True
        low, high = model.predict_interval(graphs[100:], 0.8).T
        return float(((low <= y[100:]) & (y[100:] <= high)).mean())

    right = coverage(warm=True)
    assert right > 0.75
    assert coverage(warm=False) < right - 0.1  # with other seeds they differ by 0.2 to 0.3


def test_features_keep_their_scales() -> None:
    rng = np.random.default_rng(0)
    graphs = [Graph(2, np.array([[0, 1]]), rng.normal(size=(2, 1))) for _ in range(60)]
    model = regressor(epochs=1, warm_start=True).fit(graphs[:30], np.arange(30.0))
    scales = model.record_["config"]["data"]["node_scales"]
    assert scales
    assert model.fit(graphs, np.arange(60.0)).record_["config"]["data"]["node_scales"] == scales


def test_it_begins_with_the_old_weights() -> None:
    fitted = regressor().fit(GRAPHS, CURVED)
    still = {"epochs": 1, "learning_rate": 1e-12}
    warm = copy.deepcopy(fitted).set_params(warm_start=True, **still).fit(GRAPHS, CURVED)
    cold = copy.deepcopy(fitted).set_params(warm_start=False, **still).fit(GRAPHS, CURVED)
    assert warm.score(GRAPHS, CURVED) > 0.7 > 0.2 > cold.score(GRAPHS, CURVED)
    with pytest.raises(InputError, match=r"^start does not fit .* has shape .* another shape .*warm_start=False"):
        warm.set_params(width=8).fit(GRAPHS, SIZES)
