"""Canonical forms, isomorphisms and automorphism groups: by nauty if pynauty is installed, else by our own search.

Both find the same groups and orbits, and agree on which graphs are isomorphic. Their canonical forms differ, so compare
forms and certificates within one process only. If pynauty is installed, the number of vertices and the number of edge
labels decide which of the two searches a graph or a component. So isomorphic graphs always get the same treatment.

Every graph is accepted, but a hard graph, such as a large CFI graph, can take exponential time.
"""

import numpy as np

from pfgnn.argument_checks import checked
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.nauty import is_installed, nauty_labelling, nauty_search, num_layers
from pfgnn.graphs.search import search
from pfgnn.graphs.search_result import SearchResult
from pfgnn.graphs.tree_search import explore

# A graph with at most this many vertices is searched as it is. A larger graph is simplified first, because nauty can be
# very slow on a union of similar components: in a trial, eight cubic graphs with 8 vertices each took 30 seconds.
MOST_AS_ONE = 48
# Most vertices, counted in all layers, for nauty. It stores a matrix of all pairs of vertices, so our own search is
# better for larger, sparse graphs.
MOST_FOR_NAUTY = 1000


def symmetry(graph: Graph) -> SearchResult:
    """The canonical labelling and the automorphism group of a graph."""
    return search(graph, _solve, MOST_AS_ONE) if is_installed() else search(graph)


@checked
def canonical_labelling(graph: Graph) -> IntArray:
    """The permutation [n] with which `graph.relabel` gives the canonical form."""
    if is_installed() and graph.num_nodes <= MOST_AS_ONE:
        return nauty_labelling(graph)
    return symmetry(graph).labelling


@checked
def canonical_form(graph: Graph) -> Graph:
    """A relabelled copy of the graph that is the same for all isomorphic graphs. Labels count."""
    return graph.relabel(canonical_labelling(graph))


@checked
def certificate(graph: Graph) -> bytes:
    """Bytes that are equal for two graphs if and only if they are isomorphic, with equal node and edge labels."""
    return canonical_form(graph).to_bytes()


@checked
def isomorphism(left: Graph, right: Graph) -> IntArray | None:
    """A permutation p [n] with `left.relabel(p) == right`, or None if there is none."""
    if (left.num_nodes, left.num_edges) != (right.num_nodes, right.num_edges):
        return None
    to_form, from_form = canonical_labelling(left), np.argsort(canonical_labelling(right))
    mapping = from_form[to_form]
    return mapping if left.relabel(mapping) == right else None


@checked
def is_isomorphic(left: Graph, right: Graph) -> bool:
    """Whether some renumbering of the nodes turns one graph into the other. Labels count."""
    return isomorphism(left, right) is not None


@checked
def automorphism_count(graph: Graph) -> int:
    """Number of permutations p with `graph.relabel(p) == graph`."""
    return symmetry(graph).group_order


@checked
def automorphism_generators(graph: Graph) -> IntArray:
    """Permutations that generate the automorphism group, shape [g, n]. No rows if it is trivial."""
    return symmetry(graph).generators


@checked
def orbits(graph: Graph) -> IntArray:
    """The smallest node in each node's orbit, shape [n]. Nodes with equal entries are in the same orbit."""
    return symmetry(graph).orbits


def _solve(piece: Graph) -> SearchResult:
    """Search a graph with nauty if it is small enough for it, else with the search tree."""
    return nauty_search(piece) if piece.num_nodes * num_layers(piece) <= MOST_FOR_NAUTY else explore(piece)
