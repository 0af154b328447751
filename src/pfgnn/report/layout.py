"""Where the nodes of a graph stand in a picture. There is no randomness: a graph always gets the same picture."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from pfgnn.graphs.arrays import IntArray, least_connected
from pfgnn.graphs.convert import to_networkx
from pfgnn.graphs.graph import Graph, induced_subgraph

Points = npt.NDArray[np.float64]
Move = tuple[list[int], list[int]]  # an automorphism: the vertices that it moves, and their images

ON_A_CIRCLE = 60  # most vertices of a regular graph that stand on a circle
SPARSE = 4  # a regular graph of at most this degree has springs, because one sees its shape
MOST_RINGS = 4  # of a picture that a rotation maps to itself
MOST_ORDERED = 3  # rings of which all orders are tried; of more it takes too long
WORDS = 200  # automorphisms among which a rotation is sought


def place_components(graph: Graph, moves: Sequence[Move] | None = None) -> Points:
    """Positions of the vertices in the unit disc, [n, 2]. The components stand side by side, in rows.

    Args:
        graph: The graph.
        moves: Generators of its automorphism group, see :func:`place_nodes`.
    """
    component = least_connected(graph.num_nodes, graph.edges)
    points = np.zeros((graph.num_nodes, 2))
    pieces = [np.flatnonzero(component == first) for first in np.unique(component)]
    pieces.sort(key=len, reverse=True)
    radii = [len(piece) ** 0.5 for piece in pieces]
    row = max(2 * radii[0], 2.84 * sum(radius**2 for radius in radii) ** 0.5)  # the width of a row; two fit in one
    left = top = 0.0
    high = 2 * radii[0]  # the largest of a row is its first
    for piece, radius in zip(pieces, radii, strict=True):
        if left + 2 * radius > row + 1e-9:
            left, top, high = 0.0, top - high, 2 * radius
        middle = (left + radius, top - high / 2)
        own = place_nodes(induced_subgraph(graph, piece), _within(moves or (), piece))
        points[piece] = 0.7 * radius * own + middle
        left += 2 * radius
    return in_unit_disc(points)


def place_nodes(graph: Graph, moves: Sequence[Move] | None = None) -> Points:
    """Positions of the nodes in the unit disc, [n, 2].

    If an automorphism can be drawn as a rotation, its cycles stand on rings around the middle. So the Petersen graph is
    a pentagon around a star. The nodes of other small, dense, regular graphs stand on a circle in the order of their
    numbers. For all other graphs a spring layout starts from the circle.

    Args:
        graph: The graph.
        moves: Generators of its automorphism group; None if they are not known.
    """
    import networkx as nx

    n = graph.num_nodes
    if n == 1:
        return np.zeros((1, 2))
    rotation = _rotation(n, moves or ())
    if rotation is not None:
        return _rings(graph, rotation)
    circle = _circle(n)
    if np.ptp(graph.degrees) == 0 and n <= ON_A_CIRCLE and not 2 < graph.degrees[0] <= SPARSE:
        return circle
    springs = nx.spring_layout(to_networkx(graph), pos=dict(enumerate(circle)), iterations=100, scale=None)
    points: Points = np.array([springs[node] for node in range(n)])
    points -= points.mean(axis=0)
    points = points @ np.linalg.svd(points, full_matrices=False)[2].T  # the longest axis lies flat
    return points / np.linalg.norm(points, axis=1).max()


def in_unit_disc(points: Points) -> Points:
    """The points [n, 2], moved and scaled so that the middle of their bounding box is 0 and the farthest has norm 1."""
    points = points - (points.max(0) + points.min(0)) / 2
    return points / max(1e-9, np.linalg.norm(points, axis=1).max())


def _circle(n: int) -> Points:
    """Points on the unit circle, [n, 2], clockwise from the top."""
    angles = np.linspace(np.pi / 2, -3 * np.pi / 2, n, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _within(moves: Sequence[Move], piece: IntArray) -> list[Move]:
    """The moves that map a component to itself, with the component's own numbers.

    Args:
        moves: Automorphisms.
        piece: The vertices of the component, in order.
    """
    number = {v: i for i, v in enumerate(piece.tolist())}
    own = []
    for vertices, images in moves:
        pairs = [(number[v], image) for v, image in zip(vertices, images, strict=True) if v in number]
        if pairs and all(image in number for _, image in pairs):
            own.append(([v for v, _ in pairs], [number[image] for _, image in pairs]))
    return own


def _rotation(n: int, moves: Sequence[Move]) -> list[list[int]] | None:
    """The cycles of an automorphism that has few cycles, all of one length, and at most one fixed vertex besides.

    Args:
        n: Number of vertices.
        moves: Generators of the automorphism group.

    Returns:
        The cycles with the fixed vertex last, or None if none of the tried automorphisms is like this.
    """
    generators = np.tile(np.arange(n), (len(moves), 1))
    for row, (vertices, images) in zip(generators, moves, strict=True):
        row[vertices] = images
    if not len(generators):
        return None
    rng = np.random.default_rng(0)  # a fixed seed: the picture stays the same
    word, best = np.arange(n), None
    for draw in range(WORDS + len(generators)):
        # First the generators themselves, then a random walk in the group.
        word = generators[draw] if draw < len(generators) else generators[rng.integers(len(generators))][word]
        cycles = sorted(_cycles(word), key=lambda cycle: -len(cycle))
        if cycles[0][1:] and cycles[0][1] > cycles[0][-1]:  # the other way round, so that small numbers come first
            cycles = [cycle[:1] + cycle[:0:-1] for cycle in cycles]
        rings = [cycle for cycle in cycles if len(cycle) > 1]
        equal = rings and len(rings[0]) == len(rings[-1]) > 2 and len(cycles) - len(rings) <= 1
        if equal and len(rings) <= MOST_RINGS and (best is None or len(cycles) < len(best)):
            best = cycles
    return best


def _cycles(p: IntArray) -> list[list[int]]:
    """The cycles of a permutation."""
    images, seen, cycles = p.tolist(), set(), []
    for start in range(len(images)):
        cycle = []
        while start not in seen:
            seen.add(start)
            cycle.append(start)
            start = images[start]
        if cycle:
            cycles.append(cycle)
    return cycles


def _rings(graph: Graph, cycles: list[list[int]]) -> Points:
    """The cycles on rings around the middle, [n, 2]. Their order and turns are chosen so that edges are short.

    A power of a rotation is a rotation too. It decides which vertices stand side by side.

    Args:
        graph: The graph.
        cycles: Cycles of one length, and perhaps one of length 1 behind them.
    """
    size = len(cycles[0])
    rings = [cycle for cycle in cycles if len(cycle) == size]
    circle, best, least = _circle(size), np.zeros((graph.num_nodes, 2)), np.inf
    for power in (p for p in range(1, size // 2 + 1) if np.gcd(p, size) == 1):
        turned = [[ring[power * i % size] for i in range(size)] for ring in rings]
        for order in permutations(turned) if len(rings) <= MOST_ORDERED else [turned]:
            points = np.zeros((graph.num_nodes, 2))  # a fixed vertex stays in the middle
            placed: list[int] = [v for cycle in cycles[len(rings) :] for v in cycle]
            for place, ring in enumerate(order):
                radius = 1 - place / (len(rings) + 0.25)
                # Of many rings every other one is half a step farther, for rays of vertices would hide edges.
                between = len(rings) > 2 and place % 2 == 1
                _place_ring(graph, points, placed, ring, radius * (_circle(2 * size)[1::2] if between else circle))
                placed += ring
            length = _length(graph, points)
            if length < least - 1e-9:
                best, least = points, length
    return best


def _place_ring(graph: Graph, points: Points, placed: list[int], ring: list[int], circle: Points) -> None:
    """Place a ring at the turn that has the shortest edges to the vertices that are placed."""
    known = np.zeros(graph.num_nodes, dtype=np.bool_)
    known[[*placed, *ring]] = True
    edges = graph.edges[known[graph.edges].all(axis=1)]
    lengths = []
    for turn in range(len(ring)):
        points[ring] = np.roll(circle, turn, axis=0)
        lengths.append(round(float(np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1).sum()), 9))
    points[ring] = np.roll(circle, int(np.argmin(lengths)), axis=0)


def _length(graph: Graph, points: Points) -> float:
    """The sum of the lengths of all edges."""
    return float(np.linalg.norm(points[graph.edges[:, 0]] - points[graph.edges[:, 1]], axis=1).sum())
