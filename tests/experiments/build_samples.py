"""Six small graphs, and settings for models of them."""

from dataclasses import replace
from typing import Any

import numpy as np

from pfgnn.data import Dataset
from pfgnn.experiments.config import ModelConfig
from pfgnn.graphs import Graph

PATH, STAR = Graph(3, np.array([[0, 1], [1, 2]])), Graph(4, np.array([[0, 1], [0, 2], [0, 3]]))
SIX = {"train": np.arange(4), "validation": np.array([4]), "test": np.array([5])}
SMALL = ModelConfig(width=8, layers=1, steps=1, particles=2)
EDGES = replace(SMALL, backbone="gine")


def dataset(**changes: Any) -> Dataset:
    """Six graphs in three parts; with edge features of 3 categories."""
    made = Dataset.from_graphs([PATH, STAR] * 3, [0, 1] * 3, name="six", splits=SIX)
    edge_attr = np.arange(int(made.edge_counts.sum()))[:, None] % 3
    return replace(made, **{"edge_attr": edge_attr, "edge_categories": (3,), **changes})


def bare() -> Dataset:
    """The same graphs without edge features."""
    return dataset().without_edge_features()
