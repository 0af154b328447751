from pathlib import Path

import numpy as np
import pytest

from pfgnn.graphs import Graph, automorphism_count, certificate, is_isomorphic, read_graph6, to_networkx
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.strongly_regular import sr25


def adjacency(graph: Graph) -> IntArray:
    matrix = np.zeros((graph.num_nodes, graph.num_nodes), dtype=np.int64)
    matrix[graph.edges[:, 0], graph.edges[:, 1]] = 1
    return matrix + matrix.T


def paley_25() -> Graph:
    """The elements a + b √2 of the field with 25 elements, joined where they differ by a square; node 5 a + b."""
    squares = {((a * a + 2 * b * b) % 5, 2 * a * b % 5) for a in range(5) for b in range(5)} - {(0, 0)}
    nodes = [divmod(node, 5) for node in range(25)]
    edges = [(u, v) for v in range(25) for u in range(v) if difference(nodes[u], nodes[v]) in squares]
    return Graph.from_edges(25, edges)


def difference(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    return (left[0] - right[0]) % 5, (left[1] - right[1]) % 5


def nauty_certificate(graph: Graph) -> bytes:
    pynauty = pytest.importorskip("pynauty")
    near = {v: list(others) for v, others in to_networkx(graph).adj.items()}
    found: bytes = pynauty.certificate(pynauty.Graph(graph.num_nodes, adjacency_dict=near))
    return found


@pytest.fixture(scope="module")
def certificates() -> set[bytes]:
    return {certificate(graph) for graph in sr25()}


def test_fifteen_graphs_with_the_parameters() -> None:
    assert len(sr25()) == 15
    identity = np.eye(25, dtype=np.int64)
    for graph in sr25():
        matrix = adjacency(graph)
        assert np.array_equal(matrix @ matrix, 12 * identity + 5 * matrix + 6 * (1 - identity - matrix))


def test_no_two_are_isomorphic(certificates: set[bytes]) -> None:
    assert len(certificates) == 15
    assert len({nauty_certificate(graph) for graph in sr25()}) == 15


def test_the_published_graphs_are_the_same(certificates: set[bytes], data_dir: Path) -> None:
    published = read_graph6(data_dir / "sr25" / "sr251256.g6")
    assert {certificate(graph) for graph in published} == certificates
    assert {nauty_certificate(graph) for graph in published} == {nauty_certificate(graph) for graph in sr25()}


def test_first_is_the_paley_graph() -> None:
    assert is_isomorphic(sr25()[0], paley_25())


@pytest.mark.parametrize(("start", "stop", "group_order"), [(0, 1, 15600), (1, 5, 72), (5, 7, 39), (7, 15, 6)])
def test_orbits_of_each_two_graph_cover_its_26_points(start: int, stop: int, group_order: int) -> None:
    # The automorphisms of a descendant are those of the two-graph that fix its point.
    assert sum(group_order // automorphism_count(graph) for graph in sr25()[start:stop]) == 26


def test_it_is_computed_once() -> None:
    assert sr25() is sr25()
