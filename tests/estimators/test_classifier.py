import copy
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.estimators.samples import GRAPHS, KINDS, SIZES, classifier

from pfgnn.data import Dataset
from pfgnn.errors import InputError, InputTypeError
from pfgnn.estimators import PFGNNClassifier, PFGNNRegressor
from pfgnn.experiments.predict import load_run


class Suit(Enum):
    """Labels that are no texts."""

    CLUBS = "c"
    HEARTS = "h"


@pytest.fixture(scope="module")
def fitted() -> PFGNNClassifier:
    return classifier().fit(GRAPHS, KINDS)


def test_it_learns_texts(fitted: PFGNNClassifier) -> None:
    assert fitted.classes_.tolist() == ["path", "ring"]
    assert fitted.score(GRAPHS, KINDS) > 0.9
    p, noise = fitted.predict_proba(GRAPHS, return_std=True)
    np.testing.assert_allclose(p.sum(1), 1)
    assert (fitted.classes_[p.argmax(1)] == fitted.predict(GRAPHS)).all()
    assert noise.shape == p.shape
    still = classifier(epochs=1, learning_rate=1e-12).fit(GRAPHS, KINDS)
    assert still.score(GRAPHS, KINDS) < 0.9


@pytest.mark.parametrize("classes", [[False, True], [7, -3], [1.0, 2.0], ["a", "b"]])
def test_classes_of_any_type(classes: list[Any], tmp_path: Path) -> None:
    y = np.where(KINDS == "ring", classes[0], classes[1])
    model = classifier(epochs=1).fit(GRAPHS, y)
    assert sorted(classes) == model.classes_.tolist()
    assert set(model.predict(GRAPHS)) <= set(classes)
    model.save(tmp_path / "model")
    names = load_run(tmp_path / "model", "cpu").names  # for `pfgnn predict`
    assert names == [f"probability of {name}" for name in sorted(classes)]
    again = PFGNNClassifier.load(tmp_path / "model")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(GRAPHS).tolist() == model.predict(GRAPHS).tolist()
    with pytest.raises(InputError, match="must hold a PFGNNRegressor, but it holds a 'PFGNNClassifier'"):
        PFGNNRegressor.load(tmp_path / "model")


def test_sets_of_classes(fitted: PFGNNClassifier) -> None:
    wide, narrow = (fitted.predict_set(GRAPHS, coverage) for coverage in (0.9, 0.2))
    assert wide.shape == (len(GRAPHS), 2)
    assert (wide | ~narrow).all()
    right = wide[np.arange(len(GRAPHS)), (KINDS == "ring").astype(int)]
    assert right.mean() > 0.8
    with pytest.raises(InputError, match="needs at least 99 graphs for calibration"):
        fitted.predict_set(GRAPHS, 0.99)
    with pytest.raises(InputError, match="predict_set needs graphs for calibration, but calibration_fraction was 0"):
        classifier(epochs=1, calibration_fraction=0).fit(GRAPHS, KINDS).predict_set(GRAPHS)


@pytest.mark.slow
def test_several_labels_with_gaps() -> None:
    y = np.stack([KINDS == "ring", SIZES > 7], 1).astype(float)
    y[::5, 0] = np.nan
    model = classifier().fit(GRAPHS, y)
    assert model.predict_proba(GRAPHS).shape == y.shape
    assert set(np.unique(model.predict(GRAPHS))) <= {0, 1}
    assert model.score(GRAPHS, y) > 0.8
    assert copy.deepcopy(model).score(GRAPHS, y) == model.score(GRAPHS, y)
    with pytest.raises(InputError, match="y must have a known class to be scored, but it has none"):
        model.score(GRAPHS, np.full(y.shape, np.nan))


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (["ring"] * 60, "y must hold at least 2 classes, but it holds 1 class"),
        (np.full((60, 2), 2), r"must hold the labels 0 and 1, or NaN if unknown, but graph 0 has \[2, 2\]"),
        (np.zeros((60, 2, 2)), r"y must have shape \[G\] or \[G, C\]"),
        ([[0]] * 59 + [[0, 1]], "y must have rows of the same length"),
        (7, "y must hold a class of each graph, but it is 7"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_wrong_targets(y: Any, sentence: str) -> None:
    with pytest.raises((InputError, InputTypeError), match=sentence):
        classifier().fit(GRAPHS, y)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0.5, 1.5], r"graph 0 has 0.5 \(Unknown label type: continuous\); PFGNNRegressor takes numbers"),
        ([float("nan"), 1.0], "graph 0 has nan"),
        ([Suit.CLUBS, Suit.HEARTS], "texts, whole numbers, or True and False, but graph 0 has <Suit.CLUBS: 'c'>"),
        (["a", None], "graph 3 has None; a text such as"),
        ([b"a", b"b"], "graph 0 has b'a'"),
        ([("a", "b"), ("c", "d")], r"the labels 0 and 1, or NaN if unknown, but graph 0 has \['a', 'b'\]"),
        ([1, "a"], "classes of one kind, but graph 0 has 1 and graph 3 has 'a'; texts of all"),
        ([True, 2], "classes of one kind, but graph 0 has True and graph 3 has 2"),
    ],
)
@pytest.mark.parametrize("array", [False, True])
def test_labels_that_are_no_classes_are_named(labels: list[Any], sentence: str, array: bool) -> None:
    y: Any = [labels[0] if ring else labels[1] for ring in KINDS == "ring"]
    if array:
        objects = np.empty(len(y), dtype=object)
        objects[:] = y
        y = objects
    if array and isinstance(labels[0], tuple):
        sentence = r"graph 0 has \('a', 'b'\); a text such as"
    with pytest.raises((InputError, InputTypeError), match=sentence):
        classifier().fit(GRAPHS, y)


def test_the_classes_of_a_dataset() -> None:
    dataset = Dataset.from_graphs(GRAPHS, (KINDS == "ring").astype(int))
    model = classifier(epochs=1).fit(dataset)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(dataset) == model.score(GRAPHS, KINDS == "ring")
