"""Small graphs and quick estimators for the tests of the estimators."""

from typing import Any

import numpy as np

from pfgnn.estimators import PFGNNClassifier, PFGNNRegressor
from pfgnn.graphs import Graph

QUICK: dict[str, Any] = {
    "width": 16,
    "particles": 4,
    "epochs": 30,
    "settings": {"model.step_layers": 2},
    "batch_size": 16,
    "learning_rate": 0.01,
    "draws": 2,
    "device": "cpu",
    "random_state": 0,
}


def ring(vertices: int) -> Graph:
    return Graph(vertices, np.array([(i, (i + 1) % vertices) for i in range(vertices)]))


def path(vertices: int) -> Graph:
    return Graph(vertices, np.array([(i, i + 1) for i in range(vertices - 1)]))


GRAPHS = [make(vertices) for vertices in range(3, 13) for make in (ring, path) for _ in range(3)]
SIZES = np.array([float(graph.num_nodes) for graph in GRAPHS])
CURVED = (SIZES - 7.5) ** 2 / 10  # no linear function of the numbers of nodes and edges is close
KINDS = np.array(["ring" if graph.num_edges == graph.num_nodes else "path" for graph in GRAPHS])


def regressor(**changes: Any) -> PFGNNRegressor:
    return PFGNNRegressor(**{**QUICK, **changes})


def classifier(**changes: Any) -> PFGNNClassifier:
    return PFGNNClassifier(**{**QUICK, **changes})
