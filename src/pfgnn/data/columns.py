"""The columns of a dataset: checked, joined, and kept in small dtypes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError

Array = npt.NDArray[Any]


def check_numbers(name: str, numbers: npt.ArrayLike, total: int) -> npt.NDArray[np.int64]:
    """The numbers of some of ``total`` graphs, [n]."""
    array = np.asarray(numbers)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputTypeError(
            f"{name} must be a row of graph numbers, but it has shape {list(array.shape)} of {array.dtype}"
        )
    if array.size and not 0 <= array.min() <= array.max() < total:
        raise InputError(f"{name} must lie in 0..{total - 1}, but it spans {array.min()}..{array.max()}")
    return array.astype(np.int64)


def shrink(array: Array) -> Array:
    """Integers in the smallest of uint8, int8, int16, int32 and int64 that holds them; floats as they are."""
    if array.dtype.kind not in "iub" or array.size == 0:
        return array.astype(np.int64) if array.dtype.kind in "iub" else array
    low, high = int(array.min()), int(array.max())
    kinds = (np.uint8, np.int8, np.int16, np.int32, np.int64)
    return array.astype(next(k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max))


def as_targets(y: npt.ArrayLike) -> Array:
    """Targets as finite numbers, one row each: [R] or [R, C] -> [R, C]."""
    try:
        targets = np.asarray(y)
    except ValueError:
        raise InputError("y must have rows of the same length, but they differ") from None
    if targets.dtype.kind not in "iubf":
        raise InputTypeError(f"y must hold numbers, but it has dtype {targets.dtype}")
    if targets.ndim not in (1, 2):
        raise InputError(f"y must have shape [R] or [R, C], but it has {list(targets.shape)}")
    if targets.dtype.kind == "f" and not np.isfinite(targets).all():
        raise InputError("y must be finite, but it holds NaN or infinity")
    return targets[:, None] if targets.ndim == 1 else targets


def guess_task(y: Array) -> Task:
    """The task of graphs' targets [G, C]: classes if one column of 0, 1, ..., each of which occurs, else regression."""
    distinct = np.unique(y)
    if y.dtype.kind in "iub" and y.shape[1] == 1 and np.array_equal(distinct, np.arange(len(distinct))):
        return Task("graph", len(distinct), "cross_entropy", "accuracy")
    return Task("graph", y.shape[1], "l1", "mae")


def stack(name: str, parts: Sequence[Array | None]) -> Array | None:
    """The graphs' rows of an array one after another, or None if no graph has them; ``name`` is for the message."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    widths = sorted({part.shape[1] for part in present})
    if len(present) < len(parts) or len(widths) > 1:
        raise InputError(
            f"{name} must be there for all graphs or none, with the same number of columns, "
            f"but {len(present)} of {len(parts)} graphs have it, with {widths} columns"
        )
    return np.concatenate(present)


def join_edges(parts: Sequence[Array]) -> Array:
    """The graphs' edges one after another, [2, E], for any number of graphs."""
    return np.concatenate([np.zeros((2, 0), dtype=np.int64), *parts], axis=1)


def check_rows(name: str, array: Array | None, length: int, of: str, axes: int = 2) -> None:
    """Refuse an array that is there and has not one row for each of ``length`` things."""
    if array is None:
        return
    if array.ndim != axes:
        raise InputError(f"{name} must have {axes} axes, but it has shape {list(array.shape)}")
    if len(array) != length:
        raise InputError(f"{name} must have one row for each of {length} {of}, but it has {len(array)}")


def check_edges(edges: Array, edge_attr: Array | None, count: int) -> None:
    """Refuse edges that are not [2, count], or features of another number of edges."""
    if edges.shape != (2, count):
        raise InputError(f"edges must have shape [2, {count}], but it has {list(edges.shape)}")
    check_rows("edge_attr", edge_attr, count, "edges")


def check_categories(name: str, categories: tuple[int, ...] | None, of: str, array: Array | None) -> None:
    """Refuse category counts that are not one for each column of an array."""
    columns = 0 if array is None else array.shape[1]
    if categories is not None and len(categories) != columns:
        raise InputError(f"{name} must have one entry for each of {columns} columns of {of}, but has {len(categories)}")
