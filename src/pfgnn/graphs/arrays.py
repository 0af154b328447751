"""Small exact array functions that several modules of `pfgnn.graphs` share."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pfgnn.errors import InputError

Array: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Concatenate the ranges `starts[i], ..., starts[i] + lengths[i] - 1`.

    Args:
        starts: First number of each range, shape [r].
        lengths: Length of each range, shape [r]. Zero is allowed.

    Returns:
        The numbers of all ranges, shape [sum(lengths)].
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def run_starts(*columns: Array) -> IntArray:
    """Positions at which a run of equal rows begins.

    Args:
        columns: The columns of the rows, each of shape [r]. Equal rows must be adjacent.

    Returns:
        First position of every run, ascending.
    """
    begins: BoolArray = np.ones(len(columns[0]), dtype=np.bool_)
    if begins.size > 1:
        np.not_equal(columns[0][1:], columns[0][:-1], out=begins[1:])
        for column in columns[1:]:
            begins[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(begins)


def rank_rows(rows: Array) -> IntArray:
    """Rank of each row among the sorted distinct rows, compared by exact value.

    Args:
        rows: The rows, shape [r, c].

    Returns:
        Ranks from 0, shape [r]. Equal rows have the same rank.
    """
    count, width = rows.shape
    ranks = np.zeros(count, dtype=np.int64)
    if count and width:
        order = np.lexsort(rows.T[::-1])  # lexsort takes the most important column last
        starts = run_starts(*rows[order].T)
        lengths = np.diff(starts, append=count)
        ranks[order] = np.repeat(np.arange(len(starts)), lengths)
    return ranks


def pairs_at(index: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs (u, v) with u < v at the given positions of the sequence (0,1), (0,2), (1,2), (0,3), ...

    This is the order of the bits in graph6: the pair (u, v) has position v (v - 1) / 2 + u.

    Args:
        index: Positions from 0, shape [p].

    Returns:
        u and v, each of shape [p].
    """
    v = ((1 + np.sqrt(1 + 8 * index.astype(np.float64))) / 2).astype(np.int64)
    # The square root is rounded, so v may be off by one.
    v -= v * (v - 1) // 2 > index
    v += v * (v + 1) // 2 <= index
    return index - v * (v - 1) // 2, v


def least_connected(count: int, pairs: IntArray) -> IntArray:
    """The smallest number in the connected component of each number in 0..count-1.

    Args:
        count: How many numbers there are.
        pairs: Pairs of numbers that are directly connected, shape [p, 2].

    Returns:
        Smallest number of each number's component, shape [count].
    """
    if not len(pairs):
        return np.arange(count)
    from scipy.sparse import coo_array  # imported here, because scipy is slow to import
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs), dtype=np.bool_), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    _, component = connected_components(links, directed=False)
    _, least = np.unique(component, return_index=True)
    return least[component]


def stack(name: str, parts: Sequence[Array | None]) -> Array | None:
    """Join the rows of all graphs, or return None if no graph has rows. ``name`` is used in the error message."""
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
