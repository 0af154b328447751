"""The estimators inside scikit-learn's tools."""

from io import BytesIO
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.estimators.samples import GRAPHS, KINDS, SIZES, classifier, regressor

from pfgnn.data import Dataset
from pfgnn.graphs import to_graph6


def test_clone_and_parameters() -> None:
    model = regressor(epochs=1).fit(GRAPHS, SIZES)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(GRAPHS)
    assert fresh.set_params(width=4).width == 4
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        fresh.set_params(depth=4)


def test_joblib() -> None:
    model, file = regressor(epochs=1).fit(GRAPHS, SIZES), BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict(GRAPHS), model.predict(GRAPHS))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*unlike the training data")
@pytest.mark.parametrize(
    "graphs",
    [GRAPHS, [to_graph6(graph) for graph in GRAPHS], np.array([to_graph6(graph) for graph in GRAPHS])[:, None]],
    ids=["graphs", "texts", "column"],
)
def test_cross_validation_of_lists(graphs: Any) -> None:
    scores = cross_val_score(classifier(epochs=1), graphs, KINDS, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore:.*unlike the training data")
def test_cross_validation_of_a_dataset() -> None:
    dataset = Dataset.from_graphs(GRAPHS, SIZES)
    predicted = cross_val_predict(regressor(epochs=1), dataset, SIZES, cv=2)
    assert predicted.shape == (len(GRAPHS),)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*unlike the training data")
def test_search_finds_the_better_value() -> None:
    rates = {"learning_rate": [1e-9, 0.01]}
    search = GridSearchCV(regressor(epochs=6), rates, cv=2).fit(GRAPHS, SIZES)
    assert search.best_params_ == {"learning_rate": 0.01}


def test_pipeline() -> None:
    from pfgnn.graphs.graph6 import from_line

    read = FunctionTransformer(lambda texts: [from_line(text) for text in texts])
    pipeline = Pipeline([("read", read), ("model", regressor(epochs=1))]).set_output(transform="default")
    texts = [to_graph6(graph) for graph in GRAPHS]
    pipeline.fit(texts, SIZES, model__sample_weight=np.ones(len(texts)))
    assert pipeline.predict(texts).shape == (len(GRAPHS),)
    assert pipeline.score(texts, SIZES) <= 1
    scaled = TransformedTargetRegressor(regressor(epochs=1), func=np.log, inverse_func=np.exp)
    assert (scaled.fit(GRAPHS, SIZES).predict(GRAPHS) > 0).all()
