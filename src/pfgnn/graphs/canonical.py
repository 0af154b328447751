"""Canonical forms, isomorphisms and automorphism groups, by a pruned search of the tree of colourings.

Meant for graphs of up to a few hundred nodes with moderate symmetry, such as the benchmark families; nothing is
refused, but the tree of a hard graph, such as a large CFI graph, grows exponentially.
"""

import numpy as np

from pfgnn.graphs.arrays import Array, IntArray
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.search import orbits_under, search


def canonical_labelling(graph: Graph) -> IntArray:
    """The permutation [n] under which `graph.relabel` gives the canonical form."""
    return search(graph).labelling


def canonical_form(graph: Graph) -> Graph:
    """The relabelled copy of the graph that is the same for all graphs isomorphic to it, labels included."""
    return graph.relabel(canonical_labelling(graph))


def certificate(graph: Graph) -> bytes:
    """Bytes that two graphs share exactly if they are isomorphic, with equal label values on nodes and edges."""
    form = canonical_form(graph)
    head = np.array([form.num_nodes, form.num_edges, _width(form.x), _width(form.edge_attr)])
    parts = [head.astype("<i8"), form.edges.astype("<i8"), _values(form.x), _values(form.edge_attr)]
    return b"".join(part.tobytes() for part in parts)


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
    return search(graph).group_order


def automorphism_generators(graph: Graph) -> IntArray:
    """Permutations that generate the automorphism group, [g, n]; no rows if only the identity is in it."""
    return search(graph).generators


def orbits(graph: Graph) -> IntArray:
    """The least node that automorphisms map each node to, [n]; nodes with equal entries share an orbit."""
    return orbits_under(search(graph).generators, graph.num_nodes)


def _width(labels: Array | None) -> int:
    return -1 if labels is None else labels.shape[1]


def _values(labels: Array | None) -> Array:
    """Labels as float64, which holds every allowed label exactly; adding zero turns -0.0 into 0.0."""
    return np.zeros(0) if labels is None else labels.astype("<f8") + 0.0
