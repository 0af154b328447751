"""The connected pieces of a graph: take them apart, and put together what was found in each."""

from collections import defaultdict
from math import factorial
from typing import NamedTuple

import numpy as np

from pfgnn.graphs.arrays import IntArray, least_connected, run_starts
from pfgnn.graphs.graph import Graph, induced_subgraph
from pfgnn.graphs.refinement import initial_colours
from pfgnn.graphs.symmetry import Move, Search, exchanges


class Piece(NamedTuple):
    """A connected piece with at least two vertices.

    Attributes:
        nodes: its vertices in the whole graph, ascending, [k].
        graph: the piece alone; its vertex i is `nodes[i]` of the whole.
    """

    nodes: IntArray
    graph: Graph


def split(graph: Graph) -> tuple[IntArray, list[Piece]]:
    """Take a graph apart.

    Returns:
        The vertices without neighbours, by their labels, and the other pieces.
    """
    least = least_connected(graph.num_nodes, graph.edges)
    members = _groups(np.argsort(least, kind="stable"), least)
    single = np.flatnonzero(graph.degrees == 0)
    singles = single[np.argsort(initial_colours(graph)[single], kind="stable")]
    return singles, [Piece(nodes, induced_subgraph(graph, nodes)) for nodes in members]


def join(graph: Graph, singles: IntArray, found: list[tuple[Piece, Search]]) -> Search:
    """Put together what was found: first the vertices without neighbours, then the pieces, by their canonical forms.

    Args:
        graph: the whole.
        singles: the vertices without neighbours, by their labels.
        found: the other pieces, and what a search found in each.
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
    return Search(labelling, tuple(moves), group_order, sum(result.nodes_visited for _, result in found))


def _groups(nodes: IntArray, keys: IntArray) -> list[IntArray]:
    """The groups of at least two nodes with one key, of nodes [k] sorted by their keys [n]."""
    starts = run_starts(keys[nodes])
    sizes = np.diff(starts, append=len(nodes))
    many = sizes > 1
    return [nodes[start : start + size] for start, size in zip(starts[many], sizes[many], strict=True)]
