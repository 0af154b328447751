"""The classifier."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.estimators.base import GraphEstimator, with_parameters
from pfgnn.estimators.inputs import Values, as_labels, targets_of


@with_parameters
class PFGNNClassifier(ClassifierMixin, GraphEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """PF-GNN for classes that are texts, whole numbers, or True and False; or for several labels of 0 and 1.

    Attributes:
        classes_: The classes, sorted. For several labels [0, 1].
        record_: Record of the training, as `pfgnn train` writes it.
        n_iter_: Number of epochs.
    """

    def fit(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train a model.

        Args:
            X: G graphs, as for :meth:`PFGNNRegressor.fit`.
            y: Class of each graph, [G]: texts, whole numbers, or True and False; or labels 0, 1 or NaN for unknown,
                [G, C]. None for the targets of a Dataset.
            sample_weight: See :meth:`PFGNNRegressor.fit`.
        """
        values = as_labels(targets_of(X, y, "classifier"))
        if values.ndim == 2:
            task = Task("graph", values.shape[1], "binary_cross_entropy", "roc_auc")
            return self._fit(X, values, task, sample_weight, classes=np.array([0, 1]), one_column=False)
        classes, numbers = np.unique(values, return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"y must hold at least 2 classes, but it holds {len(classes)} class")
        task = Task("graph", len(classes), "cross_entropy", "accuracy", tuple(map(str, classes.tolist())))
        return self._fit(X, numbers.reshape(-1, 1), task, sample_weight, classes=classes, one_column=True)

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """Probability of each class, [G, classes]; of several labels, the probability of each label, [G, C].

        They are calibrated by a temperature on the graphs that ``fit`` held out for it.

        Args:
            X: The graphs, as for :meth:`fit`.
            return_std: Whether to return the Monte Carlo standard error too, see :meth:`PFGNNRegressor.predict`.
        """
        found = self._predictions(X)
        return (found.mean.numpy(), found.error.numpy()) if return_std else found.mean.numpy()

    def predict(self, X: Any) -> Values:
        """The most probable class of each graph, [G]; of several labels, each label, [G, C]."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(1)] if self.one_column_ else self.classes_[(p > 0.5).astype(np.int64)]

    def predict_set(self, X: Any, coverage: float = 0.9) -> npt.NDArray[np.bool_]:
        """For each graph a set of classes that holds the true one with the given probability, [G, classes].

        An entry says whether the class is in the set. The probability holds for the graphs of each class, except that
        classes with too few graphs for calibration count together. See :meth:`PFGNNRegressor.predict_interval`.

        Args:
            X: The graphs, as for :meth:`fit`.
            coverage: The probability, such as 0.9.
        """
        p = self.predict_proba(X)
        if not self.one_column_:
            raise InputError("predict_set is for one column of classes, but this classifier has several labels")
        if self._run.calibration is None:
            raise InputError("predict_set needs graphs for calibration, but calibration_fraction was 0")
        return 1 - p <= self._run.calibration.quantiles(coverage)

    def score(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of right classes; of several labels, the share of right labels among the known ones.

        Args:
            X: The graphs, as for :meth:`fit`.
            y: The true classes or labels; None for the targets of a Dataset.
            sample_weight: Weight of each graph, [G].
        """
        truth, predicted = np.asarray(targets_of(X, y, "classifier")), self.predict(X)
        if self.one_column_:
            truth = truth.reshape(-1)
        known = np.ones(truth.shape, dtype=bool) if truth.dtype.kind != "f" else ~np.isnan(truth)
        if not known.any():
            raise InputError("y must have a known class to be scored, but it has none")
        rows = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        weights = np.broadcast_to(rows if truth.ndim == 1 else rows[:, None], truth.shape)
        return float(np.average((truth == predicted)[known], weights=weights[known]))
