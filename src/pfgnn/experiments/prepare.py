"""Prepare graphs for a model: add lengths and encodings, and remove features that are not used. It needs no torch."""

from dataclasses import replace

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.encodings import random_walks, ring_walks
from pfgnn.errors import InputError
from pfgnn.experiments.config import DataConfig


def prepare(dataset: Dataset, config: DataConfig, reads_edges: bool, cached: bool = True) -> Dataset:
    """Add lengths and encodings to a dataset, and remove edge features that are not used.

    If the dataset has no labels (BREC), each graph becomes a class of its own.

    Args:
        dataset: The dataset as it was loaded.
        config: Says which edge features and encodings are wanted.
        reads_edges: Whether the model reads edge features. If it does not, they are removed.
        cached: Whether to store encodings in the user's cache.
    """
    if dataset.task.loss == "none":
        task = replace(dataset.task, outputs=len(dataset), loss="cross_entropy")
        dataset = replace(dataset, task=task, y=np.arange(len(dataset))[:, None])
    if not config.edge_features and dataset.edge_attr is not None:
        dataset = dataset.without_edge_features()
    if config.positions == "distance":
        dataset = with_distances(dataset)
    if config.random_walks:
        dataset = random_walks(dataset, config.random_walks, cached)
    if config.ring_walks:
        dataset = ring_walks(dataset, config.ring_walks, cached)
    return dataset if reads_edges or dataset.edge_attr is None else dataset.without_edge_features()


def with_distances(dataset: Dataset) -> Dataset:
    """Append the length |p_j - p_i| of each edge to its features. Categories of edge_attr become one-hot."""
    if dataset.pos is None:
        raise InputError(f"data.positions must be none for {dataset.name}, whose nodes have no positions")
    first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
    source, target = dataset.edges + np.repeat(first, dataset.edge_counts)
    length = np.linalg.norm(dataset.pos[target] - dataset.pos[source], axis=1)
    columns = [length.astype(np.float32)[:, None]]
    if dataset.edge_attr is not None and dataset.edge_categories is not None:
        kinds = zip(dataset.edge_categories, dataset.edge_attr.T, strict=True)
        columns = [*(np.eye(count, dtype=np.float32)[column] for count, column in kinds), *columns]
    elif dataset.edge_attr is not None:
        columns = [dataset.edge_attr.astype(np.float32), *columns]
    return replace(dataset, edge_attr=np.concatenate(columns, axis=1), edge_categories=None)
