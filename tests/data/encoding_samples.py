"""Shared by the tests of this folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pfgnn.data import Dataset
from pfgnn.data.arrays import Array
from pfgnn.data.task import Task

Edges = Sequence[tuple[int, int]]


TASK = Task("graph", 1, "l1", "mae")


def both(edges: Edges) -> Edges:
    return [*edges, *((j, i) for i, j in edges)]


CASES: dict[str, tuple[int, Edges]] = {
    "path": (3, both([(0, 1), (1, 2)])),
    "triangle": (3, both([(0, 1), (1, 2), (2, 0)])),
    "disconnected": (5, both([(0, 1), (2, 3), (3, 4), (4, 2)])),
    "directed": (4, [(0, 1), (1, 2), (2, 0), (2, 3)]),  # from 3 there is no way out
    "isolated": (3, both([(0, 2)])),
    "one node": (1, []),
    "multiple": (3, [(0, 1), (0, 1), (0, 2), (1, 0), (2, 0), (2, 2)]),
    "star": (7, both([(0, leaf) for leaf in range(1, 7)])),
}


def dataset(cases: Sequence[tuple[int, Edges]], **parts: Any) -> Dataset:
    """Graphs of (node count, directed edges)."""
    return Dataset.from_arrays(
        "cases",
        TASK,
        node_counts=np.array([n for n, _ in cases]),
        edge_counts=np.array([len(edges) for _, edges in cases]),
        edges=np.array([edge for _, edges in cases for edge in edges], dtype=np.int64).reshape(-1, 2).T,
        y=np.zeros((len(cases), 1)),
        **parts,
    )


def features(of: Dataset) -> Array:
    assert of.x is not None
    assert of.x.dtype == np.float32
    assert of.node_categories is None
    return of.x
