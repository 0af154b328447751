import copy
import pickle
import pydoc
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import r2_score
from tests.estimators.samples import CURVED, GRAPHS, QUICK, SIZES, regressor

from pfgnn.data import Dataset
from pfgnn.errors import InputError
from pfgnn.estimators import PFGNNClassifier, PFGNNRegressor
from pfgnn.graphs import to_graph6, to_networkx


@pytest.fixture(scope="module")
def fitted() -> PFGNNRegressor:
    return regressor().fit(GRAPHS, SIZES)


def test_it_learns_and_a_constant_does_not() -> None:
    assert regressor().fit(GRAPHS, CURVED).score(GRAPHS, CURVED) > 0.8
    assert regressor(epochs=1, learning_rate=1e-12).fit(GRAPHS, CURVED).score(GRAPHS, CURVED) < 0.2


def test_what_is_a_sum_over_kinds_is_known_before_the_training() -> None:
    """Control: without the linear part an untrained network knows nothing."""
    pytest.importorskip("rdkit")
    atoms = ["C" * number + "O" * (number % 3) for number in range(1, 13) for _ in range(4)]
    y = [3.0 * text.count("C") - 20 * text.count("O") for text in atoms]
    still: dict[str, Any] = {"epochs": 1, "learning_rate": 1e-12}
    assert regressor(**still).fit(atoms, y).score(atoms, y) > 0.99
    without = {**QUICK["settings"], "model.linear": False}
    assert regressor(**still, settings=without).fit(atoms, y).score(atoms, y) < 0.5


def test_kinds_of_graphs_give_the_same_predictions(fitted: PFGNNRegressor) -> None:
    wanted = fitted.predict(GRAPHS[:6])
    pyg = Dataset.from_graphs(GRAPHS[:6], SIZES[:6]).to_pyg()
    array = np.empty((6, 1), dtype=object)
    array[:, 0] = GRAPHS[:6]
    kinds: list[Any] = [
        [to_graph6(graph) for graph in GRAPHS[:6]],
        [to_networkx(graph) for graph in GRAPHS[:6]],
        pyg,
        Dataset.from_graphs(GRAPHS[:6], SIZES[:6]),
        array,
    ]
    for graphs in kinds:
        np.testing.assert_allclose(fitted.predict(graphs), wanted, rtol=1e-5)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model(fitted: PFGNNRegressor) -> None:
    again = regressor().fit([to_networkx(graph) for graph in GRAPHS], SIZES)
    np.testing.assert_array_equal(again.predict(GRAPHS), fitted.predict(GRAPHS))
    other = regressor(random_state=1, epochs=1).fit(GRAPHS, SIZES)
    assert not np.array_equal(other.predict(GRAPHS), fitted.predict(GRAPHS))


def test_copies_and_files(fitted: PFGNNRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = fitted.predict(GRAPHS)
    fitted.save(tmp_path / "model")
    loaded = PFGNNRegressor.load(tmp_path / "model")
    for other in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)), loaded):
        np.testing.assert_array_equal(other.predict(GRAPHS), wanted)
        np.testing.assert_array_equal(other.predict_interval(GRAPHS), fitted.predict_interval(GRAPHS))
    assert loaded.get_params() == fitted.get_params()
    with pytest.raises(InputError, match="must be a new folder, but it exists; overwrite=True replaces a saved model"):
        fitted.save(tmp_path / "model")
    (tmp_path / "model" / "old").touch()
    monkeypatch.chdir(tmp_path / "model")
    fitted.save(".", overwrite=True)
    monkeypatch.chdir(tmp_path)
    assert not (tmp_path / "model" / "old").exists()
    np.testing.assert_array_equal(PFGNNRegressor.load(tmp_path / "model").predict(GRAPHS), wanted)
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="must be a saved model to be overwritten, but it has no estimator"):
        fitted.save(tmp_path / "mine", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "model"]


@pytest.mark.slow
def test_several_targets_with_gaps() -> None:
    y = np.stack([SIZES, -SIZES], 1)
    y[::4, 1] = np.nan
    model = regressor().fit(GRAPHS, y)
    assert model.predict(GRAPHS).shape == (len(GRAPHS), 2)
    assert model.predict_interval(GRAPHS, 0.5).shape == (len(GRAPHS), 2, 2)
    assert model.score(GRAPHS, y) > 0.8
    known = np.flatnonzero(~np.isnan(y[:, 1]))
    some = [GRAPHS[number] for number in known]
    alone = [r2_score(of, guess) for of, guess in zip(y[known].T, model.predict(some).T, strict=True)]
    assert model.score(some, y[known]) == pytest.approx(np.mean(alone))
    with pytest.raises(
        InputError, match="y must have a known value of each target to be scored, but target 1 has none"
    ):
        model.score(GRAPHS, np.where([True, False], y, np.nan))
    with pytest.raises(InputError, match=r"9 graphs .* there are \d with a known value of target 1 \(empty values do"):
        model.predict_interval(GRAPHS)


def test_a_target_with_too_few_known_values_is_named() -> None:
    y = np.stack([SIZES, -SIZES], 1)
    y[2:, 1] = np.nan
    y[0, 1] = 7.0
    sentence = r"target 1 must have a known value in each part, but the part \w+ has none: only 2 of 60 graphs .*empty"
    with pytest.raises(InputError, match=sentence):
        regressor(epochs=1).fit(GRAPHS, y)


def test_the_target_of_a_dataset() -> None:
    dataset = Dataset.from_graphs(GRAPHS, SIZES)
    model = regressor(epochs=1).fit(dataset)
    assert model.predict(GRAPHS).shape == (len(GRAPHS),)
    assert model.score(dataset) == model.score(GRAPHS, SIZES)
    with pytest.raises(InputError, match="requires y to be passed, but the target y is None"):
        model.score(GRAPHS)


@pytest.mark.slow
def test_weights_count() -> None:
    twice = [*GRAPHS, *GRAPHS]
    y = np.concatenate([SIZES, 100 - SIZES])
    weights = np.concatenate([np.ones(len(GRAPHS)), np.zeros(len(GRAPHS))])
    light = regressor().fit(twice, y, sample_weight=weights)
    assert light.score(GRAPHS, SIZES) > 0.8
    assert regressor(epochs=10).fit(twice, y).score(GRAPHS, SIZES) < 0
    heavy = np.concatenate([np.full(len(GRAPHS), 9.0), np.ones(len(GRAPHS))])
    assert regressor().fit(twice, y, sample_weight=heavy).score(GRAPHS, SIZES) > 0.5  # the median is that of SIZES


def test_weights_change_no_number_of_updates() -> None:
    plain = regressor(epochs=2).fit(GRAPHS, SIZES)
    weights = np.where(np.arange(len(GRAPHS)) % 2, 1.0, 1.1)
    weighted = regressor(epochs=2).fit(GRAPHS, SIZES, sample_weight=weights)
    assert weighted.record_["updates"] == plain.record_["updates"]
    assert not np.array_equal(weighted.predict(GRAPHS), plain.predict(GRAPHS))
    equal = regressor(epochs=2).fit(GRAPHS, SIZES, sample_weight=np.full(len(GRAPHS), 0.3))
    np.testing.assert_array_equal(equal.predict(GRAPHS), plain.predict(GRAPHS))


def test_interval_and_noise(fitted: PFGNNRegressor) -> None:
    mean, noise = fitted.predict(GRAPHS, return_std=True)
    low, high = fitted.predict_interval(GRAPHS, coverage=0.9).T
    assert (noise < 1e-5).all()  # the particles cover all vertices
    np.testing.assert_allclose((low + high) / 2, mean)
    assert (low < high).all()
    narrow = fitted.predict_interval(GRAPHS, coverage=0.5)
    assert (narrow[:, 1] - narrow[:, 0] < high - low).all()


def test_larger_graphs_get_a_warning(fitted: PFGNNRegressor) -> None:
    said = "1 graph is unlike the training data .larger than all training graphs: graph 0"
    for predict in (fitted.predict, fitted.predict_interval):
        with pytest.warns(UserWarning, match=said) as warnings:
            predict([nx.path_graph(13)])
        assert [warning.filename for warning in warnings] == [__file__]  # the line to look at is the user's


@pytest.mark.parametrize(
    ("graphs", "y", "sentence"),
    [
        (GRAPHS, ["many"] * len(GRAPHS), "y must hold numbers for a regressor, but it holds 'many'; PFGNNClassifier"),
        (GRAPHS, SIZES[1:], "y must have one row for each of 60 graphs, but it has 59"),
        (GRAPHS, [10**400] * len(GRAPHS), "y must hold numbers for a regressor, but it holds 1000000"),
        (GRAPHS, SIZES * 0 + 7, "the target must have at least 2 different values, but every graph has the value 7"),
        (GRAPHS[:3], [1.0, 2.0, 3.0], "there must be at least 2 graphs to train on, but of 3 graphs"),
        ([], [], "graphs must hold at least one graph, but it is empty"),
        (["CC(C", "CC"], [1.0, 2.0], r"molecule 0 \(counted from 0\) cannot be used: smiles 'CC\(C' is not a valid"),
        (["", "CC"], [1.0, 2.0], "molecule 0 .* has no atoms, but a graph has at least 1 node"),
        ([nx.Graph(), nx.path_graph(2)], [1.0, 2.0], "a graph has at least 1 node"),
        (GRAPHS, None, "requires y to be passed, but the target y is None"),
    ],
)
def test_wrong_input(graphs: Any, y: Any, sentence: str) -> None:
    if graphs and isinstance(graphs[0], str):
        pytest.importorskip("rdkit", reason="needs the extra chem")
    with pytest.raises((ValueError, TypeError), match=sentence):
        regressor().fit(graphs, y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"settings": ["model.width"]}, "settings must be a dict such as"),
        ({"settings": {"model.widht": 3}}, "model.widht is not a setting"),
        ({"settings": {"model.width.of": 3}}, "model.width must be an integer, but it is {'of': 3}"),
        ({"settings": {3: 3}}, "the name of a setting must be text such as model.width, but it is 3"),
        ({"width": 0}, "^width must be at least 1, but it is 0"),
        ({"epochs": 2.5}, "^epochs must be an integer or None, but it is 2.5"),
        ({"epochs": np.float64(2.5)}, "^epochs must be an integer or None, but it is 2.5"),
        ({"backbone": "nothing"}, "^backbone must be"),
        ({"early_stopping": "no"}, "early_stopping must be True or False, but it is 'no'"),
        ({"warm_start": 1}, "warm_start must be True or False, but it is 1"),
        ({"callback": 3}, "callback must be a function or None, but it is 3"),
        ({"validation_fraction": 1.0}, "validation_fraction must be at least 0 and below 1, but it is 1.0"),
        ({"calibration_fraction": 0.99}, "there must be at least 2 graphs to train on, but of 60 graphs"),
        ({"draws": 0}, "draws must be at least 1, but it is 0"),
        ({"features": "nothing"}, "features must be one of ogb, zinc, qm9"),
        ({"device": "abacus"}, "device must be"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], sentence: str) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    graphs = ["C" * length for length in range(1, 61)] if "features" in parameters else GRAPHS
    with pytest.raises((ValueError, TypeError), match=sentence):
        regressor(**parameters).fit(graphs, SIZES)


def test_a_small_calibration_part_and_none(fitted: PFGNNRegressor) -> None:
    with pytest.raises(InputError, match=r"a coverage of 0.99 needs at least 99 graphs for calibration, but there are"):
        fitted.predict_interval(GRAPHS, coverage=0.99)
    with pytest.raises(InputError, match=r"coverage must be above 0 and below 1, but it is 90"):
        fitted.predict_interval(GRAPHS, coverage=90)
    without = regressor(epochs=1, calibration_fraction=0).fit(GRAPHS, SIZES)
    with pytest.raises(
        InputError, match="predict_interval needs graphs for calibration, but calibration_fraction was 0"
    ):
        without.predict_interval(GRAPHS)


@pytest.mark.parametrize("estimator", [PFGNNRegressor, PFGNNClassifier])
def test_help_shows_all_parameters(estimator: Any) -> None:
    text = pydoc.render_doc(estimator)
    assert all(f"\n |      {name}: " in text for name in estimator().get_params())
    assert text.index("Args:") < text.index("Attributes:") < text.index("record_:")
