"""Twins: vertices with the same label that, apart from each other, have the same neighbours."""

from collections import defaultdict
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.graph import Graph, induced_subgraph
from pfgnn.graphs.refinement import edge_labels, initial_colours
from pfgnn.graphs.search_result import Move, SearchResult, exchanges

APART = -1  # used in place of an edge label if the twins are not adjacent


class TwinClass(NamedTuple):
    """At least two vertices, any two of which are twins.

    Attributes:
        members: The vertices, ascending.
        label: Rank of the label of the edges between them, or `APART` if they are not adjacent.
    """

    members: list[int]
    label: int


def find_twins(graph: Graph) -> list[TwinClass]:
    """All classes of twins of a graph."""
    near: list[set[tuple[int, int]]] = [set() for _ in range(graph.num_nodes)]  # (neighbour, label)
    for (u, v), label in zip(graph.edges.tolist(), edge_labels(graph).tolist(), strict=True):
        near[u].add((v, label))
        near[v].add((u, label))
    alike = defaultdict(list)
    for v, colour in enumerate(initial_colours(graph).tolist()):
        alike[colour, APART, frozenset(near[v])].append(v)
        for label in {label for _, label in near[v]}:
            # Adjacent twins are neighbours of each other. With the vertex itself added, both sets become equal.
            alike[colour, label, frozenset(near[v] | {(v, label)})].append(v)
    return [TwinClass(members, label) for (_, label, _), members in alike.items() if len(members) > 1]


def leave_one(graph: Graph, twins: list[TwinClass]) -> tuple[IntArray, Graph]:
    """Keep one vertex of each class of twins and remove the others.

    Returns:
        The kept vertices, ascending, and their graph. Its node labels have three columns: the rank of the vertex's
        label in the whole graph, the size of its class, and the label of the edges in the class.
    """
    x = np.stack([initial_colours(graph), np.ones_like(graph.degrees), np.full_like(graph.degrees, APART)], axis=1)
    stays = np.ones(graph.num_nodes, dtype=np.bool_)
    for members, label in twins:
        stays[members[1:]] = False
        x[members[0], 1:] = len(members), label
    kept = np.flatnonzero(stays)
    rest = induced_subgraph(graph, kept)
    return kept, Graph(rest.num_nodes, rest.edges, x[kept], rest.edge_attr)


def put_back(twins: list[TwinClass], kept: IntArray, found: SearchResult) -> SearchResult:
    """Turn the search result for the graph of `leave_one` into the search result for the whole graph.

    Args:
        twins: The classes of twins.
        kept: The vertices that `leave_one` kept, ascending.
        found: Search result for the graph of the kept vertices.
    """
    members = {v: [v] for v in kept.tolist()} | {twin.members[0]: twin.members for twin in twins}

    def whole(places: IntArray) -> IntArray:
        return np.array([w for v in kept[places].tolist() for w in members[v]])

    moves = [Move(whole(move.vertices), whole(move.images)) for move in found.moves]
    for twin in twins:
        moves += exchanges(np.array(twin.members)[:, None])
    group_order = found.group_order * prod(factorial(len(twin.members)) for twin in twins)
    labelling = np.argsort(whole(np.argsort(found.labelling)))
    return SearchResult(labelling, tuple(moves), group_order, found.nodes_visited)
