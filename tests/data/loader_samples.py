"""Shared by the tests of this folder."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.model import GIN, GINE, PFGNN
from pfgnn.testing import TOLERANCE

CLASSES = Task("graph", 3, "cross_entropy", "accuracy")


REGRESSION = Task("graph", 2, "l1", "mae")


NODES = Task("node", 3, "cross_entropy", "accuracy")


def random_dataset(seed: int, graphs: int, task: Task = CLASSES, nodes: int = 6, bare: bool = False) -> Dataset:
    """Random directed graphs with loops, some of one node or without edges; bare ones have only targets."""
    rng = np.random.default_rng(seed)
    node_counts = rng.integers(1, nodes + 1, graphs)
    chosen = [rng.random((n, n)) < rng.choice([0, 0.4]) for n in node_counts]
    edges = np.concatenate([np.stack(np.nonzero(matrix)) for matrix in chosen], axis=1)
    N, E = int(node_counts.sum()), edges.shape[1]
    rows = N if task.level == "node" else graphs
    y = rng.random((rows, task.outputs)) if task.loss == "l1" else rng.integers(0, task.outputs, (rows, 1))
    parts: dict[str, Any] = {
        "x": rng.integers(0, 5, (N, 2)),
        "edge_attr": rng.integers(0, 4, (E, 1)),
        "pos": rng.random((N, 3), dtype=np.float32),
        "key": rng.integers(-(2**62), 2**62, graphs),
        "node_categories": (5, 5),
        "edge_categories": (4,),
    }
    edge_counts = np.array([matrix.sum() for matrix in chosen])
    return Dataset.from_arrays(
        "random", task, node_counts=node_counts, edge_counts=edge_counts, edges=edges, y=y, **({} if bare else parts)
    )


def build(dataset: Dataset, **options: Any) -> PFGNN:
    """A small model, built as the dataset says."""
    model = PFGNN.paper(
        GIN(8, 2) if dataset.edge_channels is None else GINE(8, 2),
        dataset.task.outputs,
        in_channels=dataset.in_channels,
        edge_channels=dataset.edge_channels,
        steps=2,
        particles=3,
        level="node" if dataset.task.level == "node" else "graph",
        **options,
    )
    return model.eval()


def own_keys(batch: GraphBatch) -> list[int]:
    """The keys of a batch's graphs."""
    found: list[int] = batch.tensors()["graph_key"].tolist()
    return found


def predict(model: PFGNN, batch: GraphBatch) -> Tensor:
    return model(batch).prediction


def assert_near(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, rtol=TOLERANCE[want.dtype], atol=TOLERANCE[want.dtype])
