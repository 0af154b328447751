"""Canonical labelling and automorphism group by nauty, through the package pynauty (extra `exact`).

nauty supports vertex colours, but no edge labels. So the graph is passed to nauty in layers. Each layer has a copy of
every vertex, and the copies of a vertex in consecutive layers are joined. Number the edge labels from 1. An edge is in
layer i if bit i of its label's number is set. Different layers have different colours, so the layered graph has the
same symmetries as the graph. Without edge labels there is one layer: the graph itself.
"""

from typing import Any

import numpy as np

from pfgnn.graphs.arrays import IntArray, least_connected, run_starts
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.refinement import edge_labels, initial_colours
from pfgnn.graphs.search_result import SearchResult, move_of

try:
    import pynauty
except ImportError:
    pynauty = None


def is_installed() -> bool:
    """Whether pynauty is installed."""
    return pynauty is not None


def nauty_labelling(graph: Graph) -> IntArray:
    """The canonical labelling by nauty, shape [n]."""
    return _labelling(to_pynauty(graph), graph.num_nodes)


def nauty_search(graph: Graph) -> SearchResult:
    """The canonical labelling and the automorphism group by nauty."""
    theirs = to_pynauty(graph)
    found, mantissa, exponent, _, _ = pynauty.autgrp(theirs)
    rows = np.array(found, dtype=np.int64).reshape(len(found), theirs.number_of_vertices)
    generators = rows[:, : graph.num_nodes]  # the first layer determines the others
    # nauty gives the group order in floating point. Below 10^10 it is exact, and the exponent is 0.
    group_order = round(mantissa) if exponent == 0 else exact_order(generators)
    moves = tuple(move_of(generator) for generator in generators)
    return SearchResult(_labelling(theirs, graph.num_nodes), moves, group_order, nodes_visited=0)


def to_pynauty(graph: Graph) -> Any:
    """The graph as a layered `pynauty.Graph`: vertex v of layer i has number i n + v."""
    n, layers = graph.num_nodes, num_layers(graph)
    numbers = edge_labels(graph) + 1
    adjacency: dict[int, list[int]] = {}
    for layer in range(layers):
        for u, v in (graph.edges[numbers >> layer & 1 == 1] + layer * n).tolist():
            adjacency.setdefault(u, []).append(v)
    for copy in range(n, layers * n):
        adjacency.setdefault(copy - n, []).append(copy)
    colours = np.add.outer(np.arange(layers) * n, initial_colours(graph)).ravel()  # [layers n]
    order = np.argsort(colours, kind="stable")
    cells = [set(cell.tolist()) for cell in np.split(order, run_starts(colours[order])[1:])]
    return pynauty.Graph(layers * n, adjacency_dict=adjacency, vertex_coloring=cells)


def num_layers(graph: Graph) -> int:
    """Number of layers in the graph that nauty gets."""
    return int(edge_labels(graph).max(initial=0) + 1).bit_length()


def exact_order(generators: IntArray) -> int:
    """The order of the group that nauty's generators generate.

    nauty goes down one path of the search tree, and then back up. When it leaves a vertex b of the path, the generators
    found so far generate the group that fixes the path above b. The order of this group is the size of b's orbit times
    the order of the group that also fixes b, which is known already. pynauty does not report b. But take any vertex
    that the first j generators fix. The size of its orbit times the order of the group of these j generators is never
    too large, and for b it is the order. So the largest product is the order.

    Args:
        generators: One permutation per row, in the order in which nauty found them, shape [g, n].
    """
    num_nodes = generators.shape[1]
    nodes = np.arange(num_nodes)
    moved = np.vstack([generators != nodes, np.ones(num_nodes, dtype=np.bool_)])
    fixed_by = moved.argmax(axis=0)  # how many generators, from the first on, fix each node, [n]
    orders = [1]  # orders of the groups of the first 0, 1, 2, ... generators
    orbits = nodes
    for generator in generators:
        pairs = np.stack([np.tile(nodes, 2), np.concatenate([orbits, generator])], axis=1)  # [2 n, 2]
        orbits = least_connected(num_nodes, pairs)
        sizes = np.bincount(orbits)
        best = np.zeros_like(sizes)  # the largest fixed_by in each orbit
        np.maximum.at(best, orbits, fixed_by)
        orders.append(max(int(sizes[b]) * orders[best[b]] for b in np.flatnonzero(sizes > 1)))
    return orders[-1]


def _labelling(theirs: Any, num_nodes: int) -> IntArray:
    """The canonical labelling [n] from nauty's order of all vertices, in which the first layer comes first."""
    return np.argsort(pynauty.canon_label(theirs)[:num_nodes])
