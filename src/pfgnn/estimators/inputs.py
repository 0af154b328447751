"""What the user gives to an estimator: graphs, targets and labels."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from pfgnn.data.dataset import Dataset
from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.experiments.given_graphs import KINDS
from pfgnn.graphs.graph import Graph

Values = npt.NDArray[Any]


def as_graphs(X: Any) -> Sequence[Any] | Dataset:
    """The graphs of X as a list, or a Dataset as it is.

    A table or an array with one column, as some steps of a Pipeline make it, is taken for the list of its cells, and a
    PyG ``Batch`` for the list of its graphs.
    """
    if isinstance(X, Dataset):
        return X
    if hasattr(X, "to_data_list") and not isinstance(X, Sequence):
        return list(X.to_data_list())
    if getattr(X, "ndim", 1) == 2:
        if X.shape[1] != 1:
            raise InputError(f"X must be a list of graphs, or have one column of them, but it has {X.shape[1]} columns")
        X = X.iloc[:, 0] if hasattr(X, "iloc") else np.asarray(X)[:, 0]
    single = isinstance(X, str | bytes | Mapping | Graph) or hasattr(X, "nodes") or hasattr(X, "is_undirected")
    if single or not isinstance(X, Iterable):
        raise InputTypeError(f"X must be a list of {KINDS}, or a Dataset, but it is a {type(X).__name__}")
    return list(X)


def targets_of(X: Any, y: Any, kind: str) -> Any:
    """y, or the targets of a Dataset if y is None: [G], or [G, C] if there are several.

    Args:
        X: The graphs.
        y: The targets that the user gave, or None.
        kind: What needs them, for the message: "regressor" or "classifier".
    """
    if y is not None:
        return y
    if not isinstance(X, Dataset):
        raise InputError(
            f"a {kind} requires y to be passed, but the target y is None; only a Dataset has its own, such as "
            "Dataset.from_pyg(graphs) with those of PyG Data"
        )
    if X.task.level != "graph":
        raise InputError(
            f"a {kind} is for targets of whole graphs, but the task of the Dataset is at {X.task.level} level; "
            "`pfgnn train` and pfgnn.experiments.run.run train such tasks"
        )
    return X.y[:, 0] if X.y.shape[1] == 1 else X.y


def as_labels(y: Any) -> Values:
    """The labels of a classifier as an array: classes [G], or labels 0, 1 and NaN of several columns [G, C].

    Classes are texts, whole numbers, or True and False. NumPy would turn a list of several kinds into texts, so the
    items are looked at first.
    """
    array = hasattr(y, "__array__")
    if not array and (not isinstance(y, Iterable) or isinstance(y, str | bytes | Mapping)):
        raise InputTypeError(f"y must hold a class of each graph, but it is {shown(y)}")
    items = np.asarray(y) if array else list(y)
    try:
        values = np.asarray(items)
    except ValueError:
        raise InputError("y must have rows of the same length, but they differ") from None
    if values.dtype.kind == "c":
        raise InputError("y must hold classes, but it is complex. Complex data not supported")
    if values.ndim not in (1, 2):
        raise InputError(f"y must have shape [G] or [G, C], but it has {list(values.shape)}")
    if values.ndim == 2 and values.shape[1] > 1:
        return _as_binary(values)
    if values.dtype.kind in "iub" and array:
        return values.reshape(-1)
    flat = values.reshape(-1).tolist() if values.ndim == 2 or array else items
    kinds = [_kind(number, label) for number, label in enumerate(flat)]
    other = next((number for number, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise InputTypeError(
            f"y must hold classes of one kind, but graph 0 has {shown(flat[0])} and graph {other} has "
            f"{shown(flat[other])}; texts of all of them, [str(label) for label in y], are allowed"
        )
    return values.reshape(-1)


def _kind(number: int, label: object) -> str:
    """The kind of a class. Raises an error if it is none.

    Args:
        number: Number of the graph, for the message.
        label: What the user gave.
    """
    if isinstance(label, str):
        return "text"
    if isinstance(label, bool | np.bool_):
        return "truth value"
    real = isinstance(label, float | np.floating)
    if isinstance(label, Integral) or (real and float(label).is_integer()):  # type: ignore[arg-type]
        return "number"
    rule = "y must hold classes that are texts, whole numbers, or True and False"
    if not real:
        raise InputTypeError(f"{rule}, but graph {number} has {shown(label)}; a text such as str(label) is allowed")
    # scikit-learn's tools look for the words in brackets.
    raise InputError(
        f"{rule}, but graph {number} has {label!r} (Unknown label type: continuous); PFGNNRegressor takes numbers"
    )


def _as_binary(values: Values) -> Values:
    """Labels of several columns as float64, [G, C]. Raises an InputError unless they are 0, 1 or NaN."""
    try:
        labels = values.astype(np.float64)
    except (TypeError, ValueError):
        labels = np.full(values.shape, np.inf)
    wrong = ~(np.isnan(labels) | np.isin(labels, (0, 1)))
    if wrong.any():
        row = int(wrong.any(1).argmax())
        raise InputError(
            "y with several columns must hold the labels 0 and 1, or NaN if unknown, but graph "
            f"{row} has {shown(values[row].tolist())}"
        )
    return labels
