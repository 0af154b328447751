"""1-WL fingerprints of many graphs at once, to find the few graphs that need an exact search.

A fingerprint is a hash. Graphs that 1-WL cannot tell apart always have the same one. Other graphs could share one by
chance, about once in 10^19 pairs. So graphs with different fingerprints are told apart, and equal fingerprints are a
reason to compare the graphs exactly.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfgnn.graphs.arrays import Array, IntArray, run_starts

Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


class Fingerprints(NamedTuple):
    """The fingerprints of G graphs with N vertices in all.

    Fields:
        graphs: Fingerprint of each graph, shape [G].
        vertices: Fingerprint of each vertex, shape [N]. Vertices of one graph, or of graphs with equal fingerprints,
            that 1-WL cannot tell apart have the same one.
        unsure: Vertices whose orbits decide, shape [N]. If in the subgraph of these vertices, coloured by their
            fingerprints, each cell is one orbit, then this holds in the whole graph. So it holds if there are none.
    """

    graphs: Hashes
    vertices: Hashes
    unsure: Flags


def fingerprints(
    node_counts: IntArray, sources: IntArray, targets: IntArray, x: Array | None, edge_attr: Array | None
) -> Fingerprints:
    """Fingerprints of graphs that are stored one after another. Each edge is there in both directions.

    Args:
        node_counts: Number of vertices of each graph, at least 1, shape [G].
        sources: Source of each directed edge, numbered through all graphs, shape [E].
        targets: Target of each directed edge, ascending, shape [E].
        x: Node labels, shape [N, F]. They are compared by exact value.
        edge_attr: Edge labels, shape [E, Fe].
    """
    graph = np.repeat(np.arange(len(node_counts)), node_counts)
    first = np.cumsum(node_counts) - node_counts
    heads = run_starts(targets) if targets.size else targets
    edge_marks = hash_rows(edge_attr, len(targets))
    colours = hash_rows(x, len(graph))
    cells = np.zeros(len(node_counts), dtype=np.int64)
    found, vertices = np.zeros(len(node_counts), dtype=np.uint64), colours
    waiting = np.ones(len(node_counts), dtype=np.bool_)
    while waiting.any():
        # Refine once more after the cells are stable. Then equal colours also mean equal neighbourhoods.
        count = _num_cells(graph, colours, len(node_counts))
        ended = waiting & (count == cells)
        colours = _refined(colours, sources, targets, heads, edge_marks)
        if ended.any():
            found[ended] = np.add.reduceat(_mixed(colours), first)[ended]
            vertices = np.where(ended[graph], colours, vertices)
        waiting &= ~ended
        cells = count
    sizes = node_counts.astype(np.uint64)
    return Fingerprints(_mixed(found + _mixed(sizes)), vertices, _unsure(graph, sources, targets, vertices))


def _refined(colours: Hashes, sources: IntArray, targets: IntArray, heads: IntArray, edge_marks: Hashes) -> Hashes:
    """One round of 1-WL: each vertex's new colour is a hash of its colour and the multiset of its neighbours'."""
    seen = np.zeros(len(colours), dtype=np.uint64)
    if sources.size:
        seen[targets[heads]] = np.add.reduceat(_mixed(colours[sources] + edge_marks), heads)
    return _mixed(_mixed(colours) + seen)


def _num_cells(graph: IntArray, colours: Hashes, graphs: int) -> IntArray:
    """Number of colours in each graph, shape [G]."""
    order = np.lexsort((colours, graph))
    return np.bincount(graph[run_starts(graph[order], colours[order])], minlength=graphs)


def _unsure(graph: IntArray, sources: IntArray, targets: IntArray, colours: Hashes) -> Flags:
    """The vertices that are left when all rules below have been applied, shape [N].

    1. Take away vertices that are alone in their cell. Every automorphism fixes them, and the colours of the others
       know to which of them they are joined.
    2. Take away vertices with at most one neighbour, again and again. Each cell stays or goes as a whole. What goes are
       trees, and 1-WL knows the orbits of trees.
    """
    order = np.lexsort((colours, graph))
    starts = run_starts(graph[order], colours[order])
    left = np.zeros(len(graph), dtype=np.bool_)
    sizes = np.diff(starts, append=len(order))
    left[order] = np.repeat(sizes, sizes) > 1
    while True:
        inside = left[sources] & left[targets]
        bare = left & (np.bincount(targets[inside], minlength=len(graph)) <= 1)
        if not bare.any():
            return left
        left &= ~bare


def hash_rows(rows: Array | None, count: int) -> Hashes:
    """A hash of each row by exact value, shape [count]. All equal if there are no rows."""
    hashes = np.full(count, 1, dtype=np.uint64)
    for column in () if rows is None else rows.T:
        values = column.astype("<f8") + 0.0  # turns -0.0 into 0.0
        hashes = _mixed(hashes) + _mixed(values.view("<u8").astype(np.uint64) ^ np.uint64(0x5851F42D4C957F2D))
    return _mixed(hashes)


def _mixed(values: Hashes) -> Hashes:
    """A bijection of 64 bits in which each bit of the result depends on all bits of a value (splitmix64)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
