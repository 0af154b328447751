"""The strongly regular graphs with parameters (25, 12, 5, 6), constructed from Latin squares and triple systems.

Switching a graph at a set of nodes exchanges edges and non-edges between the set and the other nodes; the graphs that
switching makes of one graph are a two-graph. The descendant of a two-graph at a point is its graph in which the point
is isolated, without that point. Paulus and Rozenfel'd found all 15 graphs with these parameters: they are the
descendants of four two-graphs on 26 points.

Each of the four is given here by 26 triples, joined where they share a point. They are the cells (row, column, symbol)
of one of the two Latin squares of order 5 (up to isotopy) and one more triple apart from them, or one of the two
Steiner triple systems on 13 points. Descendants of a two-graph are isomorphic exactly if an automorphism of it maps the
point of one to that of the other, so one point of each orbit is taken.
"""

from functools import cache

import numpy as np

from pfgnn.graphs.arrays import BoolArray, IntArray
from pfgnn.graphs.canonical import orbits
from pfgnn.graphs.graph import Graph


@cache
def sr25() -> tuple[Graph, ...]:
    """The 15 strongly regular graphs with 25 nodes, degree 12, and 5 or 6 common neighbours of (non-)adjacent nodes.

    The first is the Paley graph of the field with 25 elements. The other 14 follow by two-graph: 4, 2 and 8 graphs.
    """
    cyclic = _cyclic_triples()
    systems = [_cells(_cyclic_square()), _cells(_prolonged_square()), cyclic, _trade(cyclic)]
    return tuple(graph for triples in systems for graph in _descendants(triples))


def _cyclic_square() -> IntArray:
    """The addition table modulo 5."""
    return np.add.outer(np.arange(5), np.arange(5)) % 5


def _prolonged_square() -> IntArray:
    """A Latin square of order 5 with subsquares of order 2, which the cyclic one lacks.

    It extends the addition table of the field with 4 elements: the symbols of a transversal move to a new column and a
    new row, and the new symbol 4 takes their places.
    """
    row = np.arange(4)
    column = np.array([0, 2, 3, 1])  # a multiple of the row in the field, hence a transversal
    square = np.full((5, 5), 4)
    square[:4, :4] = row[:, None] ^ row
    square[row, 4] = square[4, column] = row ^ column
    square[row, column] = 4
    return square


def _cells(square: IntArray) -> list[set[int]]:
    """The cells of a Latin square of order 5, as triples of the points 0..14, and a triple of three more points."""
    return [{row, 5 + column, 10 + int(symbol)} for (row, column), symbol in np.ndenumerate(square)] + [{15, 16, 17}]


def _cyclic_triples() -> list[set[int]]:
    """The Steiner triple system that adding a number modulo 13 leaves unchanged."""
    return [{(point + step) % 13 for point in base} for base in [(0, 1, 4), (0, 2, 7)] for step in range(13)]


def _trade(triples: list[set[int]]) -> list[set[int]]:
    """The other Steiner triple system on 13 points, by a Pasch trade in the cyclic one.

    Four of its triples lie within six points and cover the same pairs as their complements there.
    """
    six = {0, 1, 2, 4, 7, 9}
    return [six - triple if triple <= six else triple for triple in triples]


def _descendants(triples: list[set[int]]) -> list[Graph]:
    """One descendant, with 25 nodes, for each orbit of points of the two-graph of 26 triples."""
    joined = np.array([[u is not v and not u.isdisjoint(v) for v in triples] for u in triples])  # [26, 26]
    graphs = []
    for point in _representatives(joined):
        isolated = joined ^ joined[point] ^ joined[point][:, None]  # switched at the neighbours of the point
        graphs.append(_graph(np.delete(np.delete(isolated, point, axis=0), point, axis=1)))
    return graphs


def _representatives(joined: BoolArray) -> IntArray:
    """The least point of each orbit of the two-graph of a graph, given by its adjacency matrix [n, n].

    The double cover has two nodes for each point, and switching the graph only exchanges the two nodes of some points.
    Its automorphisms are those of the two-graph, combined with the exchange at all points.
    """
    apart = ~joined & ~np.eye(len(joined), dtype=np.bool_)
    cover = _graph(np.block([[joined, apart], [apart, joined]]))
    return np.unique(orbits(cover))


def _graph(adjacency: BoolArray) -> Graph:
    return Graph(len(adjacency), np.argwhere(np.triu(adjacency)))
