"""Shared by the tests of this folder."""

from dataclasses import replace
from typing import Any

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.graphs import Graph

TASK = Task("graph", 2, "l1", "mae", ("mass", "charge"), (1.0, 0.5))


NODES = Task("node", 2, "cross_entropy", "accuracy")


PATH = Graph.from_edges(3, [(0, 1), (1, 2)], [[1, 0], [0, 2], [1, 1]], [[3], [1]])


EDGE = Graph.from_edges(2, [(0, 1)], [[0, 0], [1, 2]], [[2]])


DOT = Graph.from_edges(1, [], [[1, 2]], np.zeros((0, 1), dtype=np.int64))


Y = np.array([[0.5, 1], [1.5, 2], [2.5, 3]])


def example(**changes: Any) -> Dataset:
    """A path, an edge and a single node, with everything that a dataset can have."""
    parts: dict[str, Any] = {
        "pos": np.arange(18, dtype=np.float32).reshape(6, 3),
        "pairs": np.array([[0, 1], [1, 2]]),
        "key": np.array([2**40, -7, 11]),
        "splits": {"train": np.array([2, 0]), "fold 0 test": np.array([1]), "none": np.array([], dtype=np.int64)},
        "node_categories": (2, 3),
        "edge_categories": (4,),
        "about": {"source": "tests", "citation": "nobody"},
    }
    return replace(Dataset.from_graphs([PATH, EDGE, DOT], Y, TASK, name="example", **parts), **changes)
