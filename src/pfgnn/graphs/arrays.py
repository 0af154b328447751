"""Small exact array functions that several modules of this group share."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Concatenate the ranges `starts[i], ..., starts[i] + lengths[i] - 1`.

    Args:
        starts: first number of each range, [r].
        lengths: how many numbers each range has, [r]; zero is allowed.

    Returns:
        The numbers of all ranges, [sum(lengths)].
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def run_starts(*columns: Array) -> IntArray:
    """Positions at which a run of equal rows begins.

    Args:
        columns: arrays [r] read side by side as rows, grouped so that equal rows are neighbours.

    Returns:
        The first position of every run, ascending.
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
        rows: [r, c].

    Returns:
        Ranks from 0, [r]; equal rows share a rank.
    """
    count, width = rows.shape
    ranks = np.zeros(count, dtype=np.int64)
    if count and width:
        order = np.lexsort(rows.T[::-1])  # the first column decides first
        starts = run_starts(*rows[order].T)
        lengths = np.diff(starts, append=count)
        ranks[order] = np.repeat(np.arange(len(starts)), lengths)
    return ranks


def pairs_at(index: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs (u, v), u < v, at the given places of the sequence (0,1), (0,2), (1,2), (0,3), ...

    This is the order of the bits of graph6: pair (u, v) has place v (v - 1) / 2 + u.

    Args:
        index: places from 0, [p].

    Returns:
        u and v, each [p].
    """
    v = ((1 + np.sqrt(1 + 8 * index.astype(np.float64))) / 2).astype(np.int64)
    # The square root is rounded, so v may be off by one.
    v -= v * (v - 1) // 2 > index
    v += v * (v + 1) // 2 <= index
    return index - v * (v - 1) // 2, v


def least_connected(count: int, pairs: IntArray) -> IntArray:
    """The least number that each of 0..count-1 is connected to.

    Args:
        count: how many numbers there are.
        pairs: the direct connections, [p, 2].

    Returns:
        The least number of each number's component, [count].
    """
    if not len(pairs):
        return np.arange(count)
    from scipy.sparse import coo_array  # here, for it is slow to import
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs), dtype=np.bool_), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    _, component = connected_components(links, directed=False)
    _, least = np.unique(component, return_index=True)
    return least[component]
