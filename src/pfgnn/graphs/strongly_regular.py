"""The strongly regular graphs with parameters (25, 12, 5, 6), constructed from Latin squares and triple systems.

Switching a graph at a set of nodes exchanges edges and non-edges between the set and the other nodes. All graphs that
switching makes from one graph form a two-graph, whose points are the nodes. One of these graphs isolates a given point.
Without that point, it is the descendant of the two-graph at the point. Paulus and Rozenfel'd found all 15 graphs with
these parameters. They are the descendants of four two-graphs on 26 points.

Each of the four two-graphs is given here by a graph whose 26 nodes are triples. Two triples are joined if they share an
element. Two of the four come from the two Latin squares of order 5 (up to isotopy): the triples are the 25 cells (row,
column, symbol), and one more triple that shares no element with them. The other two come from the two Steiner triple
systems on 13 points. Two descendants of a two-graph are isomorphic if and only if an automorphism of the two-graph maps
one point to the other. So one point of each orbit is used.
"""

from functools import cache

import numpy as np

from pfgnn.graphs.arrays import BoolArray, IntArray
from pfgnn.graphs.canonical import orbits
from pfgnn.graphs.graph import Graph


@cache
def sr25() -> tuple[Graph, ...]:
    """The 15 strongly regular graphs with parameters (25, 12, 5, 6).

    They have 25 nodes of degree 12. Adjacent nodes have 5 common neighbours, and other pairs of nodes have 6.

    The first is the Paley graph of the field with 25 elements. The other 14 follow by two-graph: 4, 2 and 8 graphs.
    """
    cyclic = _cyclic_triples()
    systems = [_cells(_cyclic_square()), _cells(_prolonged_square()), cyclic, _trade(cyclic)]
    return tuple(graph for triples in systems for graph in _descendants(triples))


def _cyclic_square() -> IntArray:
    """The addition table modulo 5."""
    return np.add.outer(np.arange(5), np.arange(5)) % 5


def _prolonged_square() -> IntArray:
    """A Latin square of order 5 with subsquares of order 2. The cyclic square has none.

    It extends the addition table of the field with 4 elements. The symbols of a transversal move to a new column and a
    new row, and the new symbol 4 takes their places.
    """
    row = np.arange(4)
    column = np.array([0, 2, 3, 1])  # a field element times the row, so these cells are a transversal
    square = np.full((5, 5), 4)
    square[:4, :4] = row[:, None] ^ row
    square[row, 4] = square[4, column] = row ^ column
    square[row, column] = 4
    return square


def _cells(square: IntArray) -> list[set[int]]:
    """The cells of a Latin square of order 5, as triples of the numbers 0..14, and the triple {15, 16, 17}."""
    return [{row, 5 + column, 10 + int(symbol)} for (row, column), symbol in np.ndenumerate(square)] + [{15, 16, 17}]


def _cyclic_triples() -> list[set[int]]:
    """The cyclic Steiner triple system on 13 points: adding 1 modulo 13 to all points does not change it."""
    return [{(point + step) % 13 for point in base} for base in [(0, 1, 4), (0, 2, 7)] for step in range(13)]


def _trade(triples: list[set[int]]) -> list[set[int]]:
    """The other Steiner triple system on 13 points, by a Pasch trade in the cyclic one.

    Four triples of the cyclic system lie within six points. Their complements in the six points cover the same pairs
    and replace them.
    """
    six = {0, 1, 2, 4, 7, 9}
    return [six - triple if triple <= six else triple for triple in triples]


def _descendants(triples: list[set[int]]) -> list[Graph]:
    """One descendant, with 25 nodes, for each orbit of points of the two-graph that 26 triples give."""
    joined = np.array([[u is not v and not u.isdisjoint(v) for v in triples] for u in triples])  # [26, 26]
    graphs = []
    for point in _representatives(joined):
        isolated = joined ^ joined[point] ^ joined[point][:, None]  # switching at the neighbours isolates the point
        graphs.append(_graph(np.delete(np.delete(isolated, point, axis=0), point, axis=1)))
    return graphs


def _representatives(joined: BoolArray) -> IntArray:
    """The smallest point of each orbit of the two-graph of a graph with the given adjacency matrix [n, n].

    The double cover has two nodes for each point. Switching the graph only exchanges the two nodes of some points. The
    automorphisms of the cover are those of the two-graph, combined with the exchange at all points.
    """
    apart = ~joined & ~np.eye(len(joined), dtype=np.bool_)
    cover = _graph(np.block([[joined, apart], [apart, joined]]))
    return np.unique(orbits(cover))


def _graph(adjacency: BoolArray) -> Graph:
    return Graph(len(adjacency), np.argwhere(np.triu(adjacency)))
