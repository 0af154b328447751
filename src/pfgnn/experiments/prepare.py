"""Prepare graphs for a model: add lengths and encodings, and remove features that are not used. It needs no torch."""

from dataclasses import replace

import numpy as np

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.encodings import random_walks, ring_walks
from pfgnn.errors import InputError
from pfgnn.experiments.config import DataConfig
from pfgnn.graphs.arrays import ranges

MOST_PAIRS = 200_000_000  # pairs of nodes that may become edges


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
    if config.node_scales or config.edge_scales:
        x = _scaled("node", dataset.x, dataset.node_categories, config.node_scales)
        edge_attr = _scaled("edge", dataset.edge_attr, dataset.edge_categories, config.edge_scales)
        dataset = replace(dataset, x=x, edge_attr=edge_attr)
    if config.random_walks:
        dataset = random_walks(dataset, config.random_walks, cached)
    if config.ring_walks:
        dataset = ring_walks(dataset, config.ring_walks, cached)
    if config.positions == "none":
        dataset = replace(dataset, pos=None)
    else:
        dataset = with_distances(completed(dataset) if config.positions == "complete" else dataset)
    return dataset if reads_edges or dataset.edge_attr is None else dataset.without_edge_features()


def column_scales(values: Array | None, categories: tuple[int, ...] | None) -> tuple[tuple[float, ...], ...]:
    """Mean and deviation of each column of features. Columns of 0 and 1 stay as they are, and constant ones get 1.

    Args:
        values: The features, [R, C].
        categories: Number of categories of each column; None if they are continuous. Categories have no scales.
    """
    if values is None or categories is not None or not len(values):
        return ()
    scales = []
    for column in values.T.astype(np.float64):
        deviation = float(f"{column.std():.6g}") if column.max() > column.min() else 0.0
        flags = np.isin(column, (0, 1)).all()
        scales.append((0.0, 1.0) if flags else (float(f"{column.mean():.12g}"), deviation or 1.0))
    return tuple(scales) if any(scale != (0, 1) for scale in scales) else ()


def _scaled(
    kind: str, values: Array | None, categories: tuple[int, ...] | None, scales: tuple[tuple[float, ...], ...]
) -> Array | None:
    """Features with the given scales. If they have other columns than these, they stay, and are refused later.

    Args:
        kind: "node" or "edge", for the message.
        values: The features, [R, C].
        categories: Number of categories of each column; None if they are continuous.
        scales: Mean and deviation of each column; empty for none.
    """
    for scale in scales:
        if len(scale) != 2 or scale[1] <= 0:
            raise InputError(
                f"data.{kind}_scales must hold a mean and a deviation above 0 for each column, but it has {list(scale)}"
            )
    if values is None or not scales or categories is not None or values.shape[1] != len(scales):
        return values
    mean, deviation = np.array(scales).T
    return ((values - mean) / deviation).astype(np.float32)


def with_distances(dataset: Dataset) -> Dataset:
    """Append the length |p_j - p_i| of each edge to its features. Categories of edge_attr become one-hot."""
    if dataset.pos is None:
        raise InputError(f"data.positions must be none for {dataset.name}, whose nodes have no positions")
    first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
    source, target = dataset.edges + np.repeat(first, dataset.edge_counts)
    length = np.linalg.norm(dataset.pos[target] - dataset.pos[source], axis=1)
    columns = [_numbers(dataset), length.astype(np.float32)[:, None]]
    return replace(dataset, edge_attr=np.concatenate(columns, axis=1), edge_categories=None)


def completed(dataset: Dataset) -> Dataset:
    """Add an edge between any two nodes of a graph that have none, in both directions. Its features are 0.

    Categories of edge_attr become one-hot.
    """
    n, edges_of = dataset.node_counts.astype(np.int64), dataset.edge_counts.astype(np.int64)
    if (pairs := int((n**2).sum())) > MOST_PAIRS:
        raise InputError(
            f"data.positions complete is for at most {MOST_PAIRS} pairs of nodes, but {dataset.name} has {pairs}; "
            "take data.positions=distance"
        )
    first = np.cumsum(n**2) - n**2  # the pair (target, source) of a graph has the number first + target n + source
    source, target = dataset.edges.astype(np.int64)
    number = np.repeat(first, edges_of) + target * np.repeat(n, edges_of) + source
    missing = np.ones(pairs, dtype=bool)
    missing[number] = False
    missing[np.repeat(first, n) + ranges(np.zeros_like(n), n) * (np.repeat(n, n) + 1)] = False  # no loops
    new = np.flatnonzero(missing)
    graph = np.searchsorted(first, new, side="right") - 1
    order = np.concatenate([number, new]).argsort(kind="stable")
    ends = np.stack([(new - first[graph]) % n[graph], (new - first[graph]) // n[graph]])
    features = _numbers(dataset)
    return replace(
        dataset,
        edges=np.concatenate([dataset.edges, ends.astype(dataset.edges.dtype)], axis=1)[:, order],
        edge_counts=edges_of + np.bincount(graph, minlength=len(n)),
        edge_attr=np.concatenate([features, np.zeros((len(new), features.shape[1]), np.float32)])[order],
        edge_categories=None,
    )


def _numbers(dataset: Dataset) -> Array:
    """The edge features as numbers, shape [E, C]. Categories become one-hot; C is 0 without features."""
    if dataset.edge_attr is None:
        return np.zeros((dataset.edges.shape[1], 0), dtype=np.float32)
    if dataset.edge_categories is None:
        return dataset.edge_attr.astype(np.float32)
    kinds = zip(dataset.edge_categories, dataset.edge_attr.T, strict=True)
    return np.concatenate([np.eye(count, dtype=np.float32)[column] for count, column in kinds], axis=1)
