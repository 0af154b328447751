"""Canonical labelling and automorphism group: take the graph apart first, then search what is left.

The search tree of a graph with many equal parts is large, even if each part is easy. So three rules come first:

1. Two cells of the 1-WL colouring may be joined completely, by edges of one label. A cell may be complete within. The
   colours tell where such edges are, so these edges are left out.
2. If the rest is not connected, each piece is searched alone. Equal pieces may change places.
3. Twins have the same colour and the same neighbours, apart from each other. They may change places. One of them
   stays, and its new colour tells how many there were.

No rule depends on the names of the vertices. What a rule made smaller is taken apart again. Complete graphs, stars,
trees and unions of them fall apart into single vertices: they need no search tree at all.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pfgnn.graphs.arrays import IntArray, rank_rows
from pfgnn.graphs.explore import explore
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.pieces import join, split
from pfgnn.graphs.refinement import edge_labels, refine
from pfgnn.graphs.symmetry import Search
from pfgnn.graphs.twins import find_twins, leave_one, put_back

Solve: TypeAlias = Callable[[Graph], Search]


def search(graph: Graph, solve: Solve = explore, most_as_one: int = 1) -> Search:
    """Find the canonical labelling and the automorphism group of a graph.

    Args:
        graph: the graph.
        solve: searches what is left; its canonical form must be the same for isomorphic graphs.
        most_as_one: graphs and pieces of up to so many vertices are not taken apart.
    """
    if graph.num_nodes <= most_as_one:
        return solve(graph)
    bare = without_complete_blocks(graph, refine(graph))
    singles, pieces = split(bare)
    if singles.size or len(pieces) > 1:
        return join(bare, singles, [(piece, search(piece.graph, solve, most_as_one)) for piece in pieces])
    twins = find_twins(bare)
    if twins:
        kept, rest = leave_one(bare, twins)
        return put_back(twins, kept, search(rest, solve, most_as_one))
    return solve(bare)


def without_complete_blocks(graph: Graph, colours: IntArray) -> Graph:
    """Leave out the edges that the colours imply.

    Args:
        graph: the graph.
        colours: its 1-WL colouring, [n].

    Returns:
        A graph with the colours as node labels, and the ranks of the edge labels as edge labels.
    """
    labels = edge_labels(graph)
    ends = np.sort(colours[graph.edges], axis=1)  # the cells that each edge joins, [m, 2]
    sizes = np.bincount(colours, minlength=graph.num_nodes)[ends]  # [m, 2]
    pairs = np.where(ends[:, 0] == ends[:, 1], sizes[:, 0] * (sizes[:, 0] - 1) // 2, sizes[:, 0] * sizes[:, 1])
    blocks = rank_rows(np.column_stack([ends, labels]))  # two cells and a label
    keep = np.bincount(blocks)[blocks] < pairs
    return Graph(graph.num_nodes, graph.edges[keep], colours[:, None], labels[keep, None])
