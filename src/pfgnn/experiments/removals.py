"""Copies of a graph that each lack one vertex or one edge. It needs no torch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.experiments.needs import Needs
from pfgnn.experiments.prepare import prepare
from pfgnn.graphs.arrays import IntArray


class Removal(NamedTuple):
    """A part of a graph that a copy lacks.

    Fields:
        vertex: A vertex, which goes with all its edges; None for an edge.
        edge: Both ends of an edge, which goes in both directions; None for a vertex.
    """

    vertex: int | None = None
    edge: tuple[int, int] | None = None


class Copies(NamedTuple):
    """Copies of one graph, each without a part.

    Fields:
        dataset: The copies, prepared for the model. All have the key of the graph.
        vertices: The vertex of the graph that each node of the copies is, shape [N].
    """

    dataset: Dataset
    vertices: IntArray


def undirected_edges(graph: Dataset) -> IntArray:
    """The pairs (u, v) with u ≤ v that have an edge in a direction, each once and in order, shape [m, 2].

    Args:
        graph: A dataset of one graph.
    """
    return np.unique(np.sort(graph.edges.astype(np.int64).T, axis=1), axis=0).reshape(-1, 2)


def remove_parts(graph: Dataset, removals: Sequence[Removal], needs: Needs) -> Copies:
    """Copies of a graph that each lack a part. The features of what is left stay, but encodings are computed again.

    Args:
        graph: A dataset of one graph, prepared for the model.
        removals: What each copy lacks. A copy must keep at least one vertex.
        needs: What the run needs, which says what encodings there are.
    """
    bare = _without_encodings(graph, needs.encoded)
    n, source, target = int(bare.node_counts[0]), *bare.edges.astype(np.int64)
    nodes, edges, ends = [], [], []  # of each copy: rows that it keeps, and its edges with their new numbers
    for vertex, edge in removals:
        kept = np.arange(n) != (-1 if vertex is None else vertex)
        stays = kept[source] & kept[target]
        if edge is not None:
            stays &= (np.minimum(source, target) != min(edge)) | (np.maximum(source, target) != max(edge))
        number = np.cumsum(kept) - 1
        nodes.append(np.flatnonzero(kept))
        edges.append(np.flatnonzero(stays))
        ends.append(np.stack([number[source[stays]], number[target[stays]]]))
    vertices, rows = np.concatenate(nodes), np.concatenate(edges)
    y = vertices if bare.task.level == "node" else np.zeros(len(removals), dtype=np.int64)
    arrays: dict[str, Any] = {
        "node_counts": np.array([len(of) for of in nodes]),
        "edge_counts": np.array([len(of) for of in edges]),
        "edges": np.concatenate(ends, axis=1),
        "y": bare.y[y],
        "x": None if bare.x is None else bare.x[vertices],
        "pos": None if bare.pos is None else bare.pos[vertices],
        "edge_attr": None if bare.edge_attr is None else bare.edge_attr[rows],
        "key": None if bare.key is None else np.repeat(bare.key, len(removals)),
    }
    copies = replace(bare, **arrays, splits={}, pairs=None)
    # The lengths of edges are among their features already.
    made = prepare(copies, replace(needs.data, positions="none"), needs.reads_edges, cached=False)
    return Copies(replace(made, pos=copies.pos), vertices)


def _without_encodings(graph: Dataset, encoded: int) -> Dataset:
    """The graph without the last columns of x, which hold the encodings."""
    if not encoded or graph.x is None:
        return graph
    columns = graph.x.shape[1] - encoded
    return replace(graph, x=graph.x[:, :columns] if columns else None)
