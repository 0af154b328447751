"""Canonical labelling and automorphism group: simplify the graph first, then search what is left.

The search tree of a graph with many equal parts is large, even if each part is easy. So three rules come first:

1. Remove complete blocks. Edges of one label may join every vertex of one cell of the 1-WL colouring to every vertex of
   another, or all vertices of a cell to each other. The colours determine these edges, so they are removed.
2. Split the graph. If it is not connected, each component is searched alone. Isomorphic components can be exchanged.
3. Reduce twins. Twins have the same colour and, apart from each other, the same neighbours. They can be exchanged. One
   vertex of each class of twins is kept, and its new colour includes the size of the class.

No rule depends on the numbering of the vertices. After rule 2 or 3, the rules are applied to the smaller graphs again.
Complete graphs, stars, trees and unions of them are reduced to single vertices, so they need no search tree.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pfgnn.argument_checks import checked
from pfgnn.graphs.arrays import IntArray, rank_rows
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.pieces import join, split
from pfgnn.graphs.refinement import edge_labels, refine
from pfgnn.graphs.search_result import SearchResult
from pfgnn.graphs.tree_search import explore
from pfgnn.graphs.twins import find_twins, leave_one, put_back

Solve: TypeAlias = Callable[[Graph], SearchResult]


@checked
def search(graph: Graph, solve: Solve = explore, most_as_one: int = 1) -> SearchResult:
    """Find the canonical labelling and the automorphism group of a graph.

    Args:
        graph: The graph.
        solve: Searches a graph that the rules cannot simplify. Isomorphic graphs must get the same canonical form.
        most_as_one: Graphs and components with at most this many vertices go to `solve` without the rules.
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
    """Remove the edges that the colours determine.

    Args:
        graph: The graph.
        colours: Its 1-WL colouring, shape [n].

    Returns:
        A graph with the colours as node labels, and the ranks of the edge labels as edge labels.
    """
    labels = edge_labels(graph)
    ends = np.sort(colours[graph.edges], axis=1)  # the cells that each edge joins, [m, 2]
    sizes = np.bincount(colours, minlength=graph.num_nodes)[ends]  # [m, 2]
    pairs = np.where(ends[:, 0] == ends[:, 1], sizes[:, 0] * (sizes[:, 0] - 1) // 2, sizes[:, 0] * sizes[:, 1])
    blocks = rank_rows(np.column_stack([ends, labels]))  # a block is given by two cells and a label
    keep = np.bincount(blocks)[blocks] < pairs
    return Graph(graph.num_nodes, graph.edges[keep], colours[:, None], labels[keep, None])
