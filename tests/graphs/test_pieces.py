import numpy as np

from pfgnn.graphs import Graph, circulant, disjoint_union, search
from pfgnn.graphs.pieces import join, split

TRIANGLE, SQUARE = circulant(3, [1]), circulant(4, [1])


def test_split_names_the_vertices_of_each_piece() -> None:
    graph = Graph.from_edges(7, [(5, 0), (3, 6), (3, 2)], [[9], [1], [5], [6], [0], [7], [8]])
    singles, pieces = split(graph)
    assert singles.tolist() == [4, 1]  # by their labels, 0 and 1
    assert [piece.nodes.tolist() for piece in pieces] == [[0, 5], [2, 3, 6]]
    assert pieces[0].graph == Graph.from_edges(2, [(0, 1)], [[9], [7]])
    assert pieces[1].graph == Graph.from_edges(3, [(1, 2), (0, 1)], [[5], [6], [8]])


def test_a_connected_graph_is_one_piece() -> None:
    singles, pieces = split(SQUARE)
    assert not singles.size
    assert [piece.graph for piece in pieces] == [SQUARE]


def test_join_lets_equal_pieces_change_places() -> None:
    rng = np.random.default_rng(0)
    graph = disjoint_union(TRIANGLE, SQUARE, Graph.from_edges(2, []), TRIANGLE)
    forms = set()
    for _ in range(5):
        copy = graph.relabel(rng.permutation(12))
        singles, pieces = split(copy)
        found = join(copy, singles, [(piece, search(piece.graph)) for piece in pieces])
        assert found.group_order == 6 * 6 * 2 * 8 * 2
        assert all(copy.relabel(generator) == copy for generator in found.generators)
        assert sorted(np.bincount(found.orbits)[np.unique(found.orbits)]) == [2, 4, 6]
        forms.add(copy.relabel(found.labelling))
    assert len(forms) == 1


def test_join_keeps_pieces_with_other_labels_apart() -> None:
    graph = Graph.from_edges(4, [(0, 1), (2, 3)], edge_attr=[[1], [2]])
    singles, pieces = split(graph)
    found = join(graph, singles, [(piece, search(piece.graph)) for piece in pieces])
    assert found.group_order == 4
    assert found.orbits.tolist() == [0, 0, 2, 2]
