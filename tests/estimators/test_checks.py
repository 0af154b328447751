"""scikit-learn's own checks of an estimator.

Their X is a table of numbers, and our X is a list of graphs. So they run on subclasses that make a graph of one vertex
from each row. All else is the estimators' own: parameters, parts, training, predictions, copies.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from pfgnn.estimators import PFGNNClassifier, PFGNNRegressor
from pfgnn.estimators.base import GraphEstimator
from pfgnn.graphs import Graph

QUICK: dict[str, Any] = {
    "width": 8,
    "particles": 1,
    "epochs": 8,
    "learning_rate": 0.02,
    "batch_size": 32,
    "draws": 1,
    "device": "cpu",
    "random_state": 0,
    "settings": {"model.step_layers": 1, "evaluation.particles": 1, "model.feed_forward": False},
}
NOT_FOR_US = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a graph that is given twice may be drawn once into the training part and once into the validation part, "
        "so two copies are not the same as weight 2; the check fits on other parts than it compares with"
    )
}


class OnTables(GraphEstimator):
    """Makes a graph of one vertex from each row of a table."""

    def _graphs(self, X: Any, fitting: bool = False) -> list[Graph]:
        rows = validate_data(self, X, reset=fitting, dtype=np.float64)
        return [Graph(1, np.zeros((0, 2), dtype=np.int64), row[None]) for row in rows]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = True, False, False
        return tags


class RegressorOnTables(OnTables, PFGNNRegressor):
    """The regressor for the checks."""


class ClassifierOnTables(OnTables, PFGNNClassifier):
    """The classifier for the checks."""


@pytest.mark.slow
@parametrize_with_checks(
    [RegressorOnTables(**QUICK), ClassifierOnTables(**QUICK)], expected_failed_checks=lambda estimator: NOT_FOR_US
)  # type: ignore[untyped-decorator]
def test_scikit_learns_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # pandas is not installed everywhere
        check(estimator)
