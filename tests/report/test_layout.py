"""Where vertices stand: components apart, symmetries as rotations, and the same picture every time."""

import numpy as np
import pytest
from tests.report.explore_samples import hexagon_and_triangles

from pfgnn.graphs import Graph, circulant, csl, disjoint_union, random_regular, random_tree, shrikhande
from pfgnn.graphs.arrays import IntArray
from pfgnn.report.exact_search import search_here
from pfgnn.report.layout import Points, place_components, place_nodes


def petersen(numbers: IntArray) -> Graph:
    """The Petersen graph, whose vertices have these numbers."""
    ring = np.arange(5)
    edges = [*zip(ring, (ring + 1) % 5), *zip(ring, ring + 5), *zip(ring + 5, (ring + 2) % 5 + 5)]  # noqa: B905
    return Graph(10, numbers[np.array(edges)])


def places(graph: Graph) -> Points:
    return place_nodes(graph, search_here(graph).moves)


def nearest(points: Points) -> float:
    """The smallest distance of two points."""
    return float((np.linalg.norm(points[:, None] - points, axis=2) + 9 * np.eye(len(points))).min())


def test_components_stand_side_by_side() -> None:
    ring, triangles = map(place_components, hexagon_and_triangles())
    assert np.linalg.norm(ring, axis=1) == pytest.approx(np.ones(6))
    assert triangles[:3, 0].max() < triangles[3:, 0].min()
    assert triangles[:3, 1] == pytest.approx(triangles[3:, 1])
    mixed = disjoint_union(csl(), *[circulant(n, [1]) for n in (3, 7, 5)], Graph.from_edges(9, []))
    points = place_components(mixed)
    apart = np.linalg.norm(points[:, None] - points, axis=2) + np.eye(len(points))
    assert apart.min() > 0.02
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(1)


def test_the_petersen_graph_is_a_pentagon_around_a_star(seed: int) -> None:
    graph = petersen(np.random.default_rng(seed).permutation(10))
    points = places(graph)
    far = np.linalg.norm(points, axis=1)
    assert sorted(np.round(far, 6)) == [pytest.approx(far.min())] * 5 + [pytest.approx(1)] * 5
    lengths = np.linalg.norm(points[graph.edges[:, 0]] - points[graph.edges[:, 1]], axis=1)
    rings = (far[graph.edges] > 0.9).sum(axis=1)  # 2: outside, 1: a spoke, 0: inside
    assert lengths[rings == 2] == pytest.approx(2 * np.sin(np.pi / 5))  # a pentagon
    assert lengths[rings == 1] == pytest.approx(1 - far.min())  # straight to the middle
    assert lengths[rings == 0] == pytest.approx(far.min() * 2 * np.sin(2 * np.pi / 5))  # a star


@pytest.mark.parametrize(
    "graph", [shrikhande(), csl(41, 5), circulant(9, [1, 2]), Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])]
)
def test_a_rotation_maps_the_picture_to_itself(graph: Graph, seed: int) -> None:
    graph = graph.relabel(np.random.default_rng(seed).permutation(graph.num_nodes))
    points = places(graph)
    ends = np.sort(points[graph.edges].sum(axis=1), axis=0)  # twice the middles of the edges
    angle = next(2 * np.pi / k for k in (41, 9, 8, 3) if graph.num_nodes % k in (0, 1))
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    turned = np.sort((points @ turn)[graph.edges].sum(axis=1), axis=0)
    assert turned == pytest.approx(ends, abs=1e-6)
    assert nearest(points) > 0.1


def test_graphs_without_a_rotation_have_springs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for graph in (random_tree(12, rng), random_regular(12, 3, rng)):
        points = place_nodes(graph)
        assert (points == place_nodes(graph)).all()  # the same every time
        assert np.linalg.norm(points, axis=1).max() == pytest.approx(1)
        assert np.ptp(points[:, 0]) > np.ptp(points[:, 1]) * 0.8  # rather wide than high
        ends = np.linalg.norm(points[graph.edges[:, 0]] - points[graph.edges[:, 1]], axis=1)
        assert ends.mean() < 0.8 * np.linalg.norm(points[:, None] - points, axis=2).mean()  # neighbours are near


def test_one_vertex_stands_in_the_middle() -> None:
    assert place_components(Graph.from_edges(1, [])).tolist() == [[0, 0]]


def test_symmetries_that_swap_components_are_no_rotations_of_one() -> None:
    two = disjoint_union(petersen(np.arange(10)), petersen(np.arange(10)))
    points = place_components(two, search_here(two).moves)
    assert points[:10, 0].max() < points[10:, 0].min()
    assert nearest(points) > 0.1
