"""Parameters of the estimators: NumPy's numbers, failures that change nothing, and the callback."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.estimators.samples import GRAPHS, KINDS, SIZES, classifier, regressor

from pfgnn.errors import InputError
from pfgnn.estimators import PFGNNRegressor
from pfgnn.training.metrics_file import Status


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    numpy = {
        "width": np.int64(8),
        "learning_rate": np.float32(0.5**6),
        "early_stopping": np.bool_(True),
        "validation_fraction": np.float64(0.25),
        "backbone": np.str_("gin"),
        "settings": {"model.step_layers": np.int32(1)},
        "draws": np.int64(1),
        "epochs": np.int64(1),
    }
    model = regressor(**numpy).fit(GRAPHS, SIZES)
    same = regressor(**{name: getattr(value, "item", lambda of=value: of)() for name, value in numpy.items()})
    np.testing.assert_array_equal(model.predict(GRAPHS), same.fit(GRAPHS, SIZES).predict(GRAPHS))
    model.save(tmp_path / "model")
    loaded = PFGNNRegressor.load(tmp_path / "model")
    assert loaded.get_params()["width"] == 8
    np.testing.assert_array_equal(loaded.predict(GRAPHS), model.predict(GRAPHS))


@pytest.mark.filterwarnings("ignore:.*unlike the training data")
def test_a_search_over_an_array() -> None:
    search = GridSearchCV(regressor(epochs=1), {"width": np.array([4, 8])}, cv=2, error_score="raise")
    assert search.fit(GRAPHS, SIZES).best_params_["width"] in (4, 8)


@pytest.mark.parametrize(
    ("changes", "y"),
    [
        ({"width": -1}, np.c_[SIZES, SIZES]),
        ({"draws": 0}, np.c_[SIZES, SIZES]),
        ({"device": "abacus"}, -SIZES),
        ({}, SIZES[1:]),
    ],
)
def test_a_fit_that_fails_changes_nothing(changes: dict[str, Any], y: Any) -> None:
    model = regressor(epochs=1).fit(GRAPHS, SIZES)
    wanted, before = model.predict(GRAPHS), {**vars(model)}
    with pytest.raises(InputError):
        model.set_params(**changes).fit(GRAPHS, y)
    after = vars(model.set_params(**{name: before[name] for name in changes}))
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.predict(GRAPHS), wanted)


def test_a_classifier_that_fails_keeps_its_classes() -> None:
    model = classifier(epochs=1).fit(GRAPHS, KINDS)
    with pytest.raises(InputError):
        model.set_params(epochs=-1).fit(GRAPHS, np.where(KINDS == "ring", 3, 4))
    assert model.classes_.tolist() == ["path", "ring"]


@pytest.mark.parametrize("early_stopping", [True, False])
def test_the_callback_sees_each_epoch_and_stops(early_stopping: bool) -> None:
    seen: list[Status] = []

    def stop_after_three(status: Status) -> bool:
        seen.append(status)
        return status.epoch == 3

    model = regressor(epochs=5, early_stopping=early_stopping, callback=stop_after_three).fit(GRAPHS, SIZES)
    assert [status.epoch for status in seen] == [1, 2, 3]
    assert model.n_iter_ == 3
    assert all((status.validation is not None) == early_stopping for status in seen)
    seconds = [status.seconds for status in seen]
    assert None not in seconds
    assert seconds == sorted(seconds, key=lambda of: of or 0.0)
    watching = clone(model).set_params(callback=seen.append)  # returns None, so it never stops
    assert watching.fit(GRAPHS, SIZES).n_iter_ == 5


def test_an_error_of_the_callback_reaches_the_user_and_it_is_not_saved(tmp_path: Path) -> None:
    def fail(status: Status) -> bool:
        raise KeyError("own")

    model = regressor(epochs=1).fit(GRAPHS, SIZES).set_params(callback=fail)
    with pytest.raises(KeyError, match="own"):
        copy.deepcopy(model).fit(GRAPHS, SIZES)
    model.save(tmp_path / "model")
    assert PFGNNRegressor.load(tmp_path / "model").callback is None
