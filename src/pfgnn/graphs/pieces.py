"""Split a graph into its connected components, and combine the search results of the components."""

from collections import defaultdict
from math import factorial
from typing import NamedTuple

import numpy as np

from pfgnn.graphs.arrays import IntArray, least_connected, run_starts
from pfgnn.graphs.graph import Graph, induced_subgraph
from pfgnn.graphs.refinement import initial_colours
from pfgnn.graphs.search_result import Move, SearchResult, exchanges


class Piece(NamedTuple):
    """A connected component with at least two vertices.

    Attributes:
        nodes: Its vertices in the whole graph, ascending, shape [k].
        graph: The component as a graph. Its vertex i is vertex `nodes[i]` of the whole graph.
    """

    nodes: IntArray
    graph: Graph


def split(graph: Graph) -> tuple[IntArray, list[Piece]]:
    """Split a graph into its connected components.

    Returns:
        The isolated vertices, sorted by label, and the components with at least two vertices.
    """
    least = least_connected(graph.num_nodes, graph.edges)
    members = _groups(np.argsort(least, kind="stable"), least)
    single = np.flatnonzero(graph.degrees == 0)
    singles = single[np.argsort(initial_colours(graph)[single], kind="stable")]
    return singles, [Piece(nodes, induced_subgraph(graph, nodes)) for nodes in members]


def join(graph: Graph, singles: IntArray, found: list[tuple[Piece, SearchResult]]) -> SearchResult:
    """Combine the search results of the components of a graph.

    The canonical labelling puts the isolated vertices first, then the components, sorted by their canonical forms.

    Args:
        graph: The whole graph.
        singles: The isolated vertices, sorted by label.
        found: Each component with at least two vertices, and its search result.
    """
    moves: list[Move] = []
    group_order = 1
    for nodes in _groups(singles, initial_colours(graph)):
        moves += exchanges(nodes[:, None])
        group_order *= factorial(len(nodes))

    sequence = [singles]
    equal = defaultdict(list)
    for piece, result in found:
        equal[piece.graph.relabel(result.labelling).to_bytes()].append((piece, result))
    for _, members in sorted(equal.items()):
        rows = np.stack([piece.nodes[np.argsort(result.labelling)] for piece, result in members])  # [copies, size]
        sequence.append(rows.ravel())
        piece, result = members[0]
        moves += [Move(piece.nodes[move.vertices], piece.nodes[move.images]) for move in result.moves]
        moves += exchanges(rows)
        group_order *= result.group_order ** len(members) * factorial(len(members))

    labelling = np.argsort(np.concatenate(sequence))
    return SearchResult(labelling, tuple(moves), group_order, sum(result.nodes_visited for _, result in found))


def _groups(nodes: IntArray, keys: IntArray) -> list[IntArray]:
    """The groups of at least two nodes with the same key. `nodes` [k] must be sorted by their `keys` [n]."""
    starts = run_starts(keys[nodes])
    sizes = np.diff(starts, append=len(nodes))
    many = sizes > 1
    return [nodes[start : start + size] for start, size in zip(starts[many], sizes[many], strict=True)]
