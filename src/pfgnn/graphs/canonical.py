"""Canonical forms, isomorphisms and automorphism groups: by nauty if pynauty is installed, else by our own search.

Both find the same groups and orbits, and agree on which graphs are isomorphic. Their canonical forms differ, so compare
forms and certificates within one process only. Which of the two gets a graph, or a piece of it, depends on the numbers
of vertices and edge labels alone. So isomorphic graphs always go the same way.

Nothing is refused, but a hard graph, such as a large CFI graph, can take exponential time.
"""

import numpy as np

from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.explore import explore
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.nauty import is_installed, nauty_labelling, nauty_search, num_layers
from pfgnn.graphs.search import search
from pfgnn.graphs.symmetry import Search

# Up to so many vertices a graph goes to nauty as it is. Larger ones are taken apart first, because a union of similar
# pieces can stall nauty: in a trial, a union of eight cubic graphs with 8 vertices each took it 30 seconds.
MOST_AS_ONE = 48
# nauty keeps a matrix of all pairs of vertices. Our own search is better for pieces that are larger, and sparse.
MOST_FOR_NAUTY = 1000


def symmetry(graph: Graph) -> Search:
    """The canonical labelling and the automorphism group of a graph, at once."""
    return search(graph, _solve, MOST_AS_ONE) if is_installed() else search(graph)


def canonical_labelling(graph: Graph) -> IntArray:
    """The permutation [n] under which `graph.relabel` gives the canonical form."""
    if is_installed() and graph.num_nodes <= MOST_AS_ONE:
        return nauty_labelling(graph)
    return symmetry(graph).labelling


def canonical_form(graph: Graph) -> Graph:
    """The relabelled copy of the graph that is the same for all graphs isomorphic to it, labels included."""
    return graph.relabel(canonical_labelling(graph))


def certificate(graph: Graph) -> bytes:
    """Bytes that two graphs share exactly if they are isomorphic, with equal label values on nodes and edges."""
    return canonical_form(graph).to_bytes()


def isomorphism(left: Graph, right: Graph) -> IntArray | None:
    """A permutation p with `left.relabel(p) == right`, [n]; None if there is none."""
    if (left.num_nodes, left.num_edges) != (right.num_nodes, right.num_edges):
        return None
    to_form, from_form = canonical_labelling(left), np.argsort(canonical_labelling(right))
    mapping = from_form[to_form]
    return mapping if left.relabel(mapping) == right else None


def is_isomorphic(left: Graph, right: Graph) -> bool:
    """Whether some renaming of nodes turns one graph into the other, labels included."""
    return isomorphism(left, right) is not None


def automorphism_count(graph: Graph) -> int:
    """Number of permutations p with `graph.relabel(p) == graph`."""
    return symmetry(graph).group_order


def automorphism_generators(graph: Graph) -> IntArray:
    """Permutations that generate the automorphism group, [g, n]; no rows if only the identity is in it."""
    return symmetry(graph).generators


def orbits(graph: Graph) -> IntArray:
    """The least node that automorphisms map each node to, [n]; nodes with equal entries share an orbit."""
    return symmetry(graph).orbits


def _solve(piece: Graph) -> Search:
    """Search a connected piece without twins."""
    return nauty_search(piece) if piece.num_nodes * num_layers(piece) <= MOST_FOR_NAUTY else explore(piece)
