"""What PF-GNN can tell apart with infinitely many particles: the exact distribution of the leaves of the search tree.

A leaf is a graph with T vertices marked one after the other, each mark followed by colour refinement. If the leaves of
two graphs have the same distribution, no readout and no number of particles tells the graphs apart. If they differ,
some readout with enough particles does. Branches that a symmetry maps to each other are walked once.
"""

from collections import Counter

import numpy as np
import torch
from torch import Tensor

from pfgnn.argument_checks import check_positive, checked
from pfgnn.graphs.arrays import rank_rows
from pfgnn.graphs.canonical import symmetry
from pfgnn.graphs.graph import Graph
from pfgnn.model.colours import hash_rows, refine_colours
from pfgnn.ops.hashing import mix
from pfgnn.setting_types import MOST_LAYERS

ROUNDS = 16  # of the colour refinement after each mark
MARK = 0x6D61726B  # told apart from all colours by the hash


@checked
def steps_to_differ(left: Graph, right: Graph, most: int = 4, rounds: int = ROUNDS) -> int | None:
    """The smallest T with which the leaves of two graphs have different distributions; None if there is none.

    Args:
        left: A graph.
        right: The other one. It has the same number of vertices.
        most: Largest T to try.
        rounds: Rounds of colour refinement after each mark.
    """
    for T in range(check_positive("most", most, least=0, most=MOST_LAYERS) + 1):
        if leaf_counts(left, T, rounds) != leaf_counts(right, T, rounds):
            return T
    return None


@checked
def leaf_counts(graph: Graph, steps: int, rounds: int = ROUNDS) -> Counter[int]:
    """How many of the n^T sequences of T vertices lead to each leaf. A leaf is named by a hash of its colours.

    Args:
        graph: The graph.
        steps: T.
        rounds: Rounds of colour refinement after each mark.
    """
    arcs, edge_attr = graph.directed()
    edges = torch.from_numpy(arcs)
    kind = None if edge_attr is None else hash_rows(torch.tensor(edge_attr, dtype=torch.float64))[:, None]
    labels = np.zeros((graph.num_nodes, 1)) if graph.x is None else graph.x
    start = hash_rows(torch.tensor(labels, dtype=torch.float64))[:, None]
    return _below(graph, refine_colours(start, edges, kind, rounds), steps, edges, kind, rounds)


def _below(graph: Graph, colours: Tensor, steps: int, edges: Tensor, kind: Tensor | None, rounds: int) -> Counter[int]:
    """The leaves below a node of the search tree with the given colours [n, 1]."""
    if steps == 0:
        return Counter({int(mix(colours).sum()): 1})
    n = graph.num_nodes
    marked = colours.repeat(1, n)  # one column for each vertex to mark, [n, n]
    marked.diagonal().copy_(mix(colours[:, 0] ^ MARK))
    children = refine_colours(marked, edges, kind, rounds)
    if steps == 1:
        return Counter(mix(children).sum(0).tolist())
    orbits = symmetry(Graph(n, graph.edges, rank_rows(colours.numpy())[:, None], graph.edge_attr)).orbits
    found: Counter[int] = Counter()
    for vertex, count in zip(*np.unique(orbits, return_counts=True), strict=True):  # an orbit is named by a vertex
        for leaf, number in _below(graph, children[:, [vertex]], steps - 1, edges, kind, rounds).items():
            found[leaf] += int(count) * number
    return found
