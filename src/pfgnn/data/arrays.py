"""Helper functions for the arrays of a dataset: check them, join them, and give them small dtypes."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.graphs.arrays import ranges

Array = npt.NDArray[Any]
Item = TypeVar("Item")


def check_arrays(**arrays: object) -> None:
    """Raise an InputTypeError unless each value is a numpy array, or None if it is optional."""
    for name, array in arrays.items():
        optional = name not in ("node_counts", "edge_counts", "edges", "y")
        if not isinstance(array, np.ndarray) and not (array is None and optional):
            raise InputTypeError(f"{name} must be a numpy array, but it is a {type(array).__name__}")


def check_items(name: str, items: Iterable[Item], kind: type = object) -> list[Item]:
    """Return the items as a list. Raise an InputTypeError unless they are several objects of one type.

    Args:
        name: Name of the argument, for the message.
        items: Value that the caller gave.
        kind: The type of each item.
    """
    if not isinstance(items, Iterable) or isinstance(items, str | bytes):
        raise InputTypeError(f"{name} must be a sequence, such as a list, but it is a {type(items).__name__}")
    found = list(items)
    for place, item in enumerate(found):
        if not isinstance(item, kind):
            came = "None" if item is None else f"a {type(item).__name__}"
            raise InputTypeError(f"{name} must hold objects of type {kind.__name__}, but item {place} is {came}")
    return found


def check_numbers(name: str, numbers: npt.ArrayLike, total: int) -> npt.NDArray[np.int64]:
    """Return graph numbers as int64 [n]. Raise an error unless all are integers in 0..total-1."""
    array = np.asarray(numbers)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputTypeError(
            f"{name} must be a 1-D array of graph numbers, but it has shape {list(array.shape)} and dtype {array.dtype}"
        )
    if array.size and not 0 <= array.min() <= array.max() < total:
        raise InputError(f"{name} must lie in 0..{total - 1}, but it spans {array.min()}..{array.max()}")
    return array.astype(np.int64)


def shrink(array: Array) -> Array:
    """Integers in the first of uint8, int8, int16, int32 and int64 that holds them. Floats do not change."""
    if array.dtype.kind not in "iub" or array.size == 0:
        return array.astype(np.int64) if array.dtype.kind in "iub" else array
    low, high = int(array.min()), int(array.max())
    for kind in (np.uint8, np.int8, np.int16, np.int32, np.int64):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return array.astype(kind)
    raise InputError(f"integers must be below 2**63, but one is {high}")


def as_targets(y: npt.ArrayLike) -> Array:
    """Targets [R] or [R, C] as an array [R, C]. NaN means unknown; each column needs a known value."""
    try:
        targets = np.asarray(y)
    except ValueError:
        raise InputError("y must have rows of the same length, but they differ") from None
    if targets.dtype.kind not in "iubf":
        raise InputTypeError(f"y must hold numbers, but it has dtype {targets.dtype}")
    if targets.ndim not in (1, 2):
        raise InputError(f"y must have shape [R] or [R, C], but it has {list(targets.shape)}")
    targets = targets[:, None] if targets.ndim == 1 else targets
    empty = np.isnan(targets).all(0) & (len(targets) > 0)
    if empty.any():
        raise InputError(f"y must have a value of every target, but target {int(empty.argmax())} is NaN in all rows")
    return targets


def guess_task(y: Array) -> Task:
    """Guess the task from the targets of graphs, shape [G, C].

    It is classification if there is one column of integers and its distinct values are 0, 1, 2, ... without a gap.
    Otherwise it is regression.
    """
    distinct = np.unique(y)
    if y.dtype.kind in "iub" and y.shape[1] == 1 and np.array_equal(distinct, np.arange(len(distinct))):
        return Task("graph", len(distinct), "cross_entropy", "accuracy")
    return Task("graph", y.shape[1], "l1", "mae")


def rows_of(counts: Array, graphs: Array) -> Array:
    """The numbers of the rows that belong to the given graphs, in the order of the graphs.

    Args:
        counts: Number of rows of each graph of the dataset, shape [G].
        graphs: Graph numbers, shape [n].
    """
    wide = counts.astype(np.int64)
    return ranges((np.cumsum(wide) - wide)[graphs], wide[graphs])


def join_edges(parts: Sequence[Array]) -> Array:
    """Join the edges of all graphs, shape [2, E]. There may be no graphs."""
    return np.concatenate([np.zeros((2, 0), dtype=np.int64), *parts], axis=1)


def check_rows(name: str, array: Array | None, length: int, of: str, axes: int = 2) -> None:
    """Raise an error unless an array is None, or has ``axes`` axes and one row for each of ``length`` items.

    Args:
        name: Name of the array, for the message.
        array: The array.
        length: Required number of rows.
        of: What the rows belong to, such as "nodes", for the message.
        axes: Required number of axes.
    """
    if array is None:
        return
    if array.ndim != axes:
        raise InputError(f"{name} must have {axes} axes, but it has shape {list(array.shape)}")
    if len(array) != length:
        raise InputError(f"{name} must have one row for each of {length} {of}, but it has {len(array)}")


def check_edges(edges: Array, edge_attr: Array | None, count: int) -> None:
    """Raise an error unless edges has shape [2, count] and edge_attr is None or has ``count`` rows."""
    if edges.shape != (2, count):
        raise InputError(f"edges must have shape [2, {count}], but it has {list(edges.shape)}")
    check_rows("edge_attr", edge_attr, count, "edges")


def check_categories(name: str, categories: tuple[int, ...] | None, of: str, array: Array | None) -> None:
    """Raise an error unless ``categories`` is None or has one entry for each column of an array.

    Args:
        name: Name of the categories, for the message.
        categories: Number of categories of each column.
        of: Name of the array, for the message.
        array: The array.
    """
    columns = 0 if array is None else array.shape[1]
    if categories is not None and not isinstance(categories, Sequence):
        raise InputTypeError(f"{name} must be a sequence of ints, but it is {shown(categories)}")
    if categories is not None and len(categories) != columns:
        raise InputError(f"{name} must have one entry for each of {columns} columns of {of}, but has {len(categories)}")
