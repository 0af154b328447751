"""The graphs of a dataset as undirected graphs, for exact algorithms. Positions and targets are left out."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.errors import InputError
from pfgnn.graphs.arrays import BoolArray, IntArray
from pfgnn.graphs.graph import Graph


class Undirected(NamedTuple):
    """The graphs of a dataset with vertices that are numbered through all graphs.

    Fields:
        node_counts: Number of vertices of each graph, shape [G].
        sources: Source of each directed edge, shape [E].
        targets: Target of each directed edge, ascending, shape [E].
        x: Node labels, shape [N, F].
        edge_attr: Edge labels, shape [E, Fe].
    """

    node_counts: IntArray
    sources: IntArray
    targets: IntArray
    x: Array | None
    edge_attr: Array | None


def undirected(dataset: Dataset, first: int = 0) -> Undirected:
    """The graphs with vertices numbered through, if each edge is there in both directions, once, with equal features.

    Args:
        dataset: The graphs.
        first: Number of the first graph in the whole dataset, for the error message.
    """
    counts = dataset.node_counts.astype(np.int64)
    graph = np.repeat(np.arange(len(counts)), dataset.edge_counts)
    sources, targets = dataset.edges.astype(np.int64) + (np.cumsum(counts) - counts)[graph]
    back = np.lexsort((targets, sources))  # the order in which the reversed edges are sorted as the edges are
    wrong = (sources != targets[back]) | (targets != sources[back]) | (sources == targets)
    wrong[1:] |= (sources[1:] == sources[:-1]) & (targets[1:] == targets[:-1])
    if dataset.edge_attr is not None:
        wrong |= (dataset.edge_attr != dataset.edge_attr[back]).any(1)
    if wrong.any():
        raise InputError(
            f"{dataset.name} must have undirected graphs without loops and double edges, with the same features in "
            f"both directions of an edge, but graph {first + int(graph[wrong.argmax()])} is not one"
        )
    return Undirected(counts, sources, targets, dataset.x, dataset.edge_attr)


def induced(flat: Undirected, kept: BoolArray, labels: IntArray) -> Undirected:
    """The subgraphs of some vertices with other node labels. A graph without such vertices gets 0 vertices.

    Args:
        flat: The graphs.
        kept: Whether to keep each vertex, shape [N].
        labels: Label of each vertex, shape [N].
    """
    graph = np.repeat(np.arange(len(flat.node_counts)), flat.node_counts)
    inside = kept[flat.sources] & kept[flat.targets]
    number = np.cumsum(kept) - 1
    return Undirected(
        np.bincount(graph[kept], minlength=len(flat.node_counts)),
        number[flat.sources[inside]],
        number[flat.targets[inside]],
        labels[kept, None],
        None if flat.edge_attr is None else flat.edge_attr[inside],
    )


def graphs_of(flat: Undirected, chosen: IntArray) -> Iterator[Graph]:
    """Some of the graphs as objects.

    Args:
        flat: The graphs.
        chosen: Their numbers, shape [k].
    """
    first = np.concatenate([[0], np.cumsum(flat.node_counts)])
    arcs = np.searchsorted(flat.targets, first)
    for number in chosen.tolist():
        nodes, edges = slice(first[number], first[number + 1]), slice(arcs[number], arcs[number + 1])
        pairs = np.stack([flat.sources[edges], flat.targets[edges]], axis=1) - first[number]
        once = pairs[:, 0] < pairs[:, 1]
        x = None if flat.x is None else flat.x[nodes]
        yield Graph(
            int(flat.node_counts[number]),
            pairs[once],
            x,
            None if flat.edge_attr is None else flat.edge_attr[edges][once],
        )
