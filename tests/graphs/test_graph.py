import numpy as np
import numpy.typing as npt
import pytest

from pfgnn.graphs import Graph, disjoint_union
from pfgnn.graphs.graph import induced_subgraph


def test_edges_are_oriented_and_sorted_with_their_labels() -> None:
    graph = Graph.from_edges(4, [(3, 1), (0, 2), (1, 0)], edge_attr=[[31], [2], [10]])
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 3]]
    assert graph.edge_attr is not None
    assert graph.edge_attr.tolist() == [[10], [2], [31]]
    assert graph.num_edges == 3
    assert graph.degrees.tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize(
    ("num_nodes", "edges", "message"),
    [
        (5, [(0, 1), (3, 3)], "edges has a self-loop at node 3, but a simple graph has none"),
        (6, [(2, 5), (0, 1), (5, 2)], r"edges has the duplicate edge \(2, 5\)"),
        (5, [(0, 9)], r"edges has edge \(0, 9\), which is out of range for 5 nodes"),
        (5, [(-1, 2)], r"edges has edge \(-1, 2\), which is out of range for 5 nodes"),
        (5, [(0, 1, 2)], r"edges must have shape \[m, 2\], but it has \[1, 3\]"),
        (0, [], "num_nodes is 0, but a graph has at least 1 node"),
        (-3, [], "num_nodes is -3"),
    ],
)
def test_bad_edges_are_refused(num_nodes: int, edges: npt.ArrayLike, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Graph.from_edges(num_nodes, edges)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.zeros((4, 1)), ValueError, "x must have one row for each of 5 nodes, but it has 4 rows"),
        (np.zeros(5), ValueError, "x must have 2 axes, .*, but it has 1"),
        (np.array([[0.0], [1.0], [np.nan], [0.0], [0.0]]), ValueError, "x must hold finite .* row 2, column 0 is nan"),
        (np.full((5, 1), 2**60), ValueError, r"x must hold integer labels between -2\*\*53 and 2\*\*53, but row 0, "),
        (np.zeros((5, 1), dtype=np.bool_), TypeError, "x must hold integers or floats .*, but it has dtype bool"),
        (np.zeros((5, 1), dtype=np.complex64), TypeError, "but it has dtype complex64"),
    ],
)
def test_bad_labels_are_refused(x: npt.ArrayLike, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Graph.from_edges(5, [(0, 1)], x)


def test_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError, match="edges must hold integers, but it has dtype float64"):
        Graph.from_edges(3, [(0.0, 1.0)])
    with pytest.raises(TypeError, match="num_nodes must be an integer, not float"):
        Graph.from_edges(3.0, [])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="edge_attr must have one row for each of 1 edges, but it has 2 rows"):
        Graph.from_edges(3, [(0, 1)], edge_attr=[[1], [2]])


def test_a_graph_cannot_be_changed() -> None:
    x = np.zeros((3, 1))
    graph = Graph.from_edges(3, [(0, 1)], x)
    x[0] = 7
    assert graph.x is not None
    assert graph.x[0, 0] == 0
    for array in (graph.edges, graph.x, *graph.neighbours):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_equality_compares_values_and_not_dtypes() -> None:
    graph = Graph.from_edges(3, [(0, 1)], [[1], [2], [0]])
    same = Graph.from_edges(3, [(1, 0)], [[1.0], [2.0], [-0.0]])
    assert graph == same
    assert hash(graph) == hash(same)
    assert graph != Graph.from_edges(3, [(0, 1)], [[1], [2], [4]])
    assert graph != Graph.from_edges(3, [(0, 1)])
    assert graph != Graph.from_edges(3, [(0, 2)], [[1], [2], [0]])
    assert graph != "graph"


def test_neighbours_and_directed_list_both_directions() -> None:
    graph = Graph.from_edges(4, [(0, 1), (1, 3), (0, 3)], edge_attr=[[1], [13], [3]])
    indptr, indices, edge_ids = graph.neighbours
    assert indptr.tolist() == [0, 2, 4, 4, 6]
    assert indices.tolist() == [1, 3, 0, 3, 0, 1]
    assert edge_ids.tolist() == [0, 1, 0, 2, 1, 2]
    edge_index, labels = graph.directed()
    assert edge_index.tolist() == [[0, 0, 1, 1, 3, 3], [1, 3, 0, 3, 0, 1]]
    assert labels is not None
    assert labels[:, 0].tolist() == [1, 3, 1, 13, 3, 13]


def test_relabel_carries_labels_and_has_an_inverse() -> None:
    graph = Graph.from_edges(4, [(0, 1), (1, 3)], [[0], [1], [2], [3]], [[5], [6]])
    permutation = np.array([2, 0, 3, 1])
    moved = graph.relabel(permutation)
    assert moved == Graph.from_edges(4, [(2, 0), (0, 1)], [[1], [3], [0], [2]], [[5], [6]])
    assert moved.relabel(np.argsort(permutation)) == graph


@pytest.mark.parametrize(
    ("permutation", "error"), [([0, 1], ValueError), ([0, 1, 1], ValueError), ([0.0, 1.0, 2.0], TypeError)]
)
def test_relabel_refuses_what_is_no_permutation(permutation: list[int], error: type[Exception]) -> None:
    with pytest.raises(error, match="permutation"):
        Graph.from_edges(3, []).relabel(permutation)


def test_disjoint_union_shifts_nodes_and_stacks_labels() -> None:
    left = Graph.from_edges(2, [(0, 1)], [[1], [2]])
    right = Graph.from_edges(3, [(1, 2)], [[3.5], [4.0], [5.0]])
    assert disjoint_union(left, right) == Graph.from_edges(5, [(0, 1), (3, 4)], [[1.0], [2.0], [3.5], [4.0], [5.0]])
    with pytest.raises(ValueError, match=r"x must be there for all graphs or none, .*, but 1 of 2 graphs have it"):
        disjoint_union(left, Graph.from_edges(1, []))
    with pytest.raises(ValueError, match=r"with \[1, 2\] columns"):
        disjoint_union(left, Graph.from_edges(1, [], [[1, 2]]))
    with pytest.raises(ValueError, match="graphs is empty"):
        disjoint_union()


def test_an_induced_subgraph_keeps_labels_and_the_edges_inside() -> None:
    graph = Graph.from_edges(5, [(0, 1), (1, 3), (3, 4)], [[0], [1], [2], [3], [4]], [[1], [13], [34]])
    expected = Graph.from_edges(3, [(1, 2), (2, 0)], [[4], [1], [3]], [[13], [34]])
    assert induced_subgraph(graph, np.array([4, 1, 3])) == expected
    assert induced_subgraph(Graph.from_edges(3, [(0, 1)]), np.array([2, 0])) == Graph.from_edges(2, [])


def test_equal_graphs_share_their_bytes_and_others_do_not() -> None:
    graph = Graph.from_edges(3, [(0, 1)], [[1], [2], [0]])
    assert graph.to_bytes() == Graph.from_edges(3, [(1, 0)], [[1.0], [2.0], [-0.0]]).to_bytes()
    for other in (
        Graph.from_edges(3, [(0, 2)], [[1], [2], [0]]),
        Graph.from_edges(3, [(0, 1)], [[1], [2], [4]]),
        Graph.from_edges(3, [(0, 1)], [[1], [2], [0]], [[0]]),
        Graph.from_edges(3, [(0, 1)]),
    ):
        assert graph.to_bytes() != other.to_bytes()
