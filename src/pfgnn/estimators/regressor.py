"""The regressor."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.estimators.base import GraphEstimator, with_parameters
from pfgnn.estimators.inputs import Values, targets_of
from pfgnn.estimators.parameters import plain


@with_parameters
class PFGNNRegressor(RegressorMixin, GraphEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """PF-GNN for targets that are numbers.

    The loss is the mean absolute error of the standardised targets.

    Attributes:
        record_: Record of the training, as `pfgnn train` writes it.
        n_iter_: Number of epochs.
    """

    def fit(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train a model.

        Args:
            X: G graphs: a list of SMILES, graph6 strings, networkx graphs, PyG ``Data`` or :class:`pfgnn.Graph`, or a
                :class:`pfgnn.data.Dataset`. Positions of nodes, ``pos`` of ``Data``, are used if there are any.
            y: Targets, [G] or [G, C]. NaN means unknown. None for the targets of a Dataset.
            sample_weight: A graph of weight 2 is used twice as often in the training as one of weight 1, [G]. Graphs of
                weight 0 are left out.
        """
        targets = _numbers(targets_of(X, y, "regressor"))
        one = targets.ndim == 1
        columns = targets[:, None] if one else targets
        return self._fit(X, columns, Task("graph", columns.shape[1], "l1", "mae"), sample_weight, one_column=one)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict graphs: [G], or [G, C] if y had several columns.

        Args:
            X: The graphs, as for :meth:`fit`.
            return_std: Whether to return the Monte Carlo standard error of each prediction too. It is the noise of the
                draws alone: 0 if the particles cover all vertices. It says nothing about how far a prediction is from
                the truth: that is what :meth:`predict_interval` is for.
        """
        found = self._predictions(X)
        mean, error = (self._shaped(values.numpy()) for values in (found.mean, found.error))
        return (mean, error) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Values:
        """Intervals that hold the true value with the given probability: [G, 2], or [G, C, 2] for several targets.

        They are split-conformal intervals from the graphs that ``fit`` held out for calibration. The coverage holds on
        average over graphs that come from where the training graphs come from.

        Args:
            X: The graphs, as for :meth:`fit`.
            coverage: The probability, such as 0.9.
        """
        check_is_fitted(self, "model_files_")
        if self._run.calibration is None:
            raise InputError("predict_interval needs graphs for calibration, but calibration_fraction was 0")
        self._run.calibration.quantiles(plain(coverage))  # raises if there are none of some target
        interval = self._predictions(X, coverage).interval
        assert interval is not None
        return self._shaped(interval[0].numpy())

    def score(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """The coefficient of determination R². With several targets their mean; unknown targets do not count.

        Args:
            X: The graphs, as for :meth:`fit`.
            y: The true values; None for the targets of a Dataset.
            sample_weight: Weight of each graph, [G].
        """
        from sklearn.metrics import r2_score

        truth, predicted = _numbers(targets_of(X, y, "regressor")), self.predict(X)
        weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        scores: list[float] = []
        for of, guess in zip(np.atleast_2d(truth.T), np.atleast_2d(predicted.T), strict=True):
            known = ~np.isnan(of)
            if not known.any():
                raise InputError(
                    f"y must have a known value of each target to be scored, but target {len(scores)} has none"
                )
            scores.append(r2_score(of[known], guess[known], sample_weight=weights[known]))
        return float(np.mean(scores))

    def _shaped(self, values: Values) -> Values:
        return values[:, 0] if self.one_column_ else values


def _numbers(y: Any) -> Values:
    """Targets as float64, [G] or [G, C]."""
    try:
        given = np.asarray(y)
        array = given.astype(np.float64) if given.dtype.kind != "c" else given
    except (TypeError, ValueError, OverflowError):
        wrong = next((value for value in np.asarray(y, dtype=object).flat if not _is_number(value)), y)
        raise InputTypeError(
            f"y must hold numbers for a regressor, but it holds {shown(wrong)}; PFGNNClassifier takes classes"
        ) from None
    if array.dtype.kind == "c":
        raise InputError("y must hold real numbers, but it is complex. Complex data not supported")
    if array.ndim not in (1, 2):
        raise InputError(f"y must have shape [G] or [G, C], but it has {list(array.shape)}")
    if np.isinf(array).any():
        raise InputError("y must be finite, or NaN if unknown, but it holds infinity")
    return array


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
