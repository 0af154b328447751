"""Graphs that occur several times in a dataset, and those of them whose targets differ."""

import numpy as np

from pfgnn.data.arrays import Array
from pfgnn.graphs.arrays import IntArray, run_starts


def copies(classes: IntArray) -> tuple[tuple[int, ...], ...]:
    """The numbers of isomorphic graphs, from 0, for each class that has several.

    Args:
        classes: Number of each graph's isomorphism class, shape [G].
    """
    order = np.argsort(classes, kind="stable")
    groups = np.split(order, run_starts(classes[order])[1:])
    return tuple(sorted(tuple(group.tolist()) for group in groups if len(group) > 1))


def conflicting(classes: IntArray, y: Array) -> tuple[tuple[int, ...], ...]:
    """The groups of :func:`copies` whose known targets differ.

    Args:
        classes: Number of each graph's isomorphism class, shape [G].
        y: Targets of the graphs, shape [G, C].
    """
    known = y.astype(float)

    def differ(group: tuple[int, ...]) -> bool:
        rows = known[list(group)]
        return bool((np.fmin.reduce(rows) < np.fmax.reduce(rows)).any())

    return tuple(group for group in copies(classes) if differ(group))


def conflicts(classes: IntArray, y: Array) -> int:
    """Number of graphs that have an isomorphic copy with another known target."""
    return sum(map(len, conflicting(classes, y)))
