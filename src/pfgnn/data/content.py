"""Checks of a dataset: the types of its fields, the shapes of its arrays, and what they hold."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pfgnn.data.arrays import Array, check_arrays, check_categories, check_edges, check_numbers, check_rows
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError, InputTypeError, shown

if TYPE_CHECKING:
    from pfgnn.data.dataset import Dataset


def check_types(dataset: "Dataset") -> None:
    """Raise an InputTypeError for the first field that has the wrong type."""
    if not isinstance(dataset.task, Task):
        raise InputTypeError(f"task must be a Task, but it is {shown(dataset.task)}")
    if not isinstance(dataset.name, str):
        raise InputTypeError(f"name must be a string, but it is {shown(dataset.name)}")
    names = ("node_counts", "edge_counts", "edges", "y", "x", "edge_attr", "pos", "pairs")
    check_arrays(**{name: getattr(dataset, name) for name in names})
    for name in ("splits", "about"):
        if not isinstance(found := getattr(dataset, name), Mapping):
            raise InputTypeError(f"{name} must be a mapping, such as a dict, but it is a {type(found).__name__}")


def check_shapes(dataset: "Dataset") -> None:
    """Raise an InputError for the first array whose shape does not fit."""
    G, N, E = len(dataset), int(dataset.node_counts.sum()), int(dataset.edge_counts.sum())
    if G == 0:
        raise InputError(f"the dataset {dataset.name} must have at least one graph, but it is empty")
    if dataset.node_counts.min() < 1:
        raise InputError(f"every graph must have a node, but graph {int(dataset.node_counts.argmin())} has none")
    check_rows("edge_counts", dataset.edge_counts, G, "graphs", axes=1)
    check_rows("key", dataset.key, G, "graphs", axes=1)
    check_rows("y", dataset.y, *((N, "nodes") if dataset.task.level == "node" else (G, "graphs")))
    check_rows("x", dataset.x, N, "nodes")
    check_rows("pos", dataset.pos, N, "nodes")
    check_edges(dataset.edges, dataset.edge_attr, E)
    check_categories("node_categories", dataset.node_categories, "x", dataset.x)
    check_categories("edge_categories", dataset.edge_categories, "edge_attr", dataset.edge_attr)
    if dataset.pairs is not None:
        check_numbers("pairs", dataset.pairs.reshape(-1), G)
        if dataset.pairs.ndim != 2 or dataset.pairs.shape[1] != 2:
            raise InputError(f"pairs must have shape [P, 2], but it has {list(dataset.pairs.shape)}")


def check_content(dataset: "Dataset") -> None:
    """Raise an error for the first array whose values a model could not use, or would use wrongly.

    Every dataset is checked, however it was made. The message names the graph.
    """
    for name in ("node_counts", "edge_counts", "edges", "key"):
        if (dtype := dataset.arrays()[name].dtype).kind not in "iu":
            raise InputTypeError(f"{name} must hold integers, but it has dtype {dtype}")
    nodes, edges = dataset.node_counts, dataset.edge_counts
    _check_ends(dataset.edges, nodes, edges)
    _check_features("x", dataset.x, dataset.node_categories, nodes)
    _check_features("edge_attr", dataset.edge_attr, dataset.edge_categories, edges)
    _check_features("pos", dataset.pos, None, nodes)
    _check_targets(dataset.y, dataset.task, nodes if dataset.task.level == "node" else np.ones_like(nodes))


def _check_ends(edges: Array, node_counts: Array, edge_counts: Array) -> None:
    """Raise an error unless every edge joins two nodes of its graph, and edges are sorted by target, then by source."""
    if edge_counts.min() < 0:
        raise InputError(f"edge_counts must be at least 0, but that of graph {int(edge_counts.argmin())} is negative")
    outside = ((edges < 0) | (edges >= np.repeat(node_counts, edge_counts))).any(0)
    if outside.any():
        place = int(outside.argmax())
        graph = graph_of(place, edge_counts)
        raise InputError(
            f"edges must join nodes 0..{node_counts[graph] - 1} in graph {graph}, "
            f"but it has the edge {tuple(edges[:, place].tolist())}"
        )
    source, target = edges
    falls = (target[1:] < target[:-1]) | ((target[1:] == target[:-1]) & (source[1:] < source[:-1]))
    falls = np.flatnonzero(falls) + 1
    wrong = falls[~np.isin(falls, np.cumsum(edge_counts, dtype=np.int64))]  # a new graph begins there
    if len(wrong):
        graph = graph_of(int(wrong[0]), edge_counts)
        raise InputError(f"edges must be sorted by target, then by source, but those of graph {graph} are not")


def _check_features(name: str, array: Array | None, categories: tuple[int, ...] | None, counts: Array) -> None:
    """Raise an error unless features are finite numbers, or categories within their limits.

    Args:
        name: Name of the features, for the message.
        array: The features, one row per node or edge, or None.
        categories: Number of categories of each column; None if the columns are continuous.
        counts: Number of rows of each graph, shape [G].
    """
    if array is None:
        return
    check_numbers_finite(name, array, counts)
    for column, count in enumerate(categories or ()):
        values = array[:, column]
        if array.dtype.kind not in "iub":
            raise InputTypeError(f"{name} must hold category numbers (int), but it has dtype {array.dtype}")
        if values.size and not 0 <= values.min() <= values.max() < count:
            row = int(((values < 0) | (values >= count)).argmax())
            raise InputError(
                f"{name} column {column} must lie in 0..{count - 1}, "
                f"but graph {graph_of(row, counts)} has {values[row]} there"
            )


def check_numbers_finite(name: str, array: Array, counts: Array, unknown: bool = False) -> None:
    """Raise an error unless an array holds finite numbers. The message names the graph.

    Args:
        name: Name of the array, for the message.
        array: The array, shape [R, C].
        counts: Number of rows of each graph, shape [G].
        unknown: Whether NaN is allowed too.
    """
    if array.dtype.kind not in "iubf":
        raise InputTypeError(f"{name} must hold numbers, but it has dtype {array.dtype}")
    if array.dtype.kind != "f":
        return
    good = ~np.isinf(array) if unknown else np.isfinite(array)
    if not good.all():
        row, column = np.argwhere(~good)[0].tolist()
        rule = "finite, or NaN if unknown" if unknown else "finite"
        raise InputError(f"{name} must be {rule}, but graph {graph_of(row, counts)} has {array[row, column]}")


def _check_targets(y: Array, task: Task, counts: Array) -> None:
    """Raise an error unless targets fit the task. NaN is an unknown target.

    Args:
        y: The targets, shape [R, C].
        task: The task.
        counts: Number of rows of each graph, shape [G].
    """
    check_numbers_finite("y", y, counts, unknown=True)
    classes = task.loss in CLASS_LOSSES
    columns = 1 if classes else task.outputs
    if task.loss != "none" and y.shape[1] != columns:
        raise InputError(f"y must have shape {[len(y), columns]} for this task, but it has {list(y.shape)}")
    if not classes and task.loss != "binary_cross_entropy":
        return
    highest = task.outputs - 1 if classes else 1
    wrong = (y < 0) | (y > highest)  # both are false for NaN
    if classes and y.dtype.kind == "f":
        wrong |= (y != np.floor(y)) & ~np.isnan(y)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        rule = f"a class in 0..{highest}" if classes else "a label in 0..1"
        raise InputError(f"y must be {rule}, but graph {graph_of(row, counts)} has {y[row, column]}")


def graph_of(row: int, counts: Array) -> int:
    """The number of the graph that a row belongs to.

    Args:
        row: Number of the row.
        counts: Number of rows of each graph, shape [G].
    """
    return int(np.searchsorted(np.cumsum(counts, dtype=np.int64), row, side="right"))
