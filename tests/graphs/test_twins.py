import numpy as np

from pfgnn.graphs import Graph, circulant
from pfgnn.graphs.tree_search import explore
from pfgnn.graphs.twins import APART, find_twins, leave_one, put_back

# A path 0 - 1 - 2 with two more ends at vertex 0, and a triangle at vertex 2.
GRAPH = Graph.from_edges(7, [(0, 1), (1, 2), (0, 3), (0, 4), (2, 5), (2, 6), (5, 6)])


def twins(graph: Graph) -> dict[tuple[int, ...], int]:
    return {tuple(members): label for members, label in find_twins(graph)}


def test_twins_may_be_joined_or_not() -> None:
    assert twins(GRAPH) == {(3, 4): APART, (5, 6): 0}
    assert twins(circulant(4, [1])) == {(0, 2): APART, (1, 3): APART}
    assert twins(circulant(4, [1, 2])) == {(0, 1, 2, 3): 0}
    assert twins(circulant(5, [1])) == {}


def test_labels_part_twins() -> None:
    assert twins(Graph(7, GRAPH.edges, np.eye(7)[:, [3]])) == {(5, 6): 0}
    assert twins(Graph(7, GRAPH.edges, np.eye(7)[:, [5]])) == {(3, 4): APART}
    by_edge = {(0, 3): 1, (5, 6): 2}  # twins through another edge than the rest stay twins
    labels = [[by_edge.get((u, v), 0)] for u, v in GRAPH.edges.tolist()]
    assert twins(Graph(7, GRAPH.edges, None, np.array(labels))) == {(5, 6): 2}


def test_one_of_each_class_stays_and_tells_of_the_others() -> None:
    kept, rest = leave_one(GRAPH, find_twins(GRAPH))
    assert kept.tolist() == [0, 1, 2, 3, 5]
    assert rest.edges.tolist() == [[0, 1], [0, 3], [1, 2], [2, 4]]
    assert rest.x is not None
    assert rest.x.tolist() == [[0, 1, APART], [0, 1, APART], [0, 1, APART], [0, 2, APART], [0, 2, 0]]


def test_what_is_found_without_twins_holds_with_them() -> None:
    rng = np.random.default_rng(0)
    path, left, right = [(0, 1), (1, 2)], [(0, v) for v in (3, 4, 5)], [(2, v) for v in (6, 7, 8)]
    graph = Graph.from_edges(9, path + left + right)
    assert explore(graph).group_order == 72
    forms = set()
    for _ in range(5):
        copy = graph.relabel(rng.permutation(9))
        classes = find_twins(copy)
        kept, rest = leave_one(copy, classes)
        found = put_back(classes, kept, explore(rest))
        assert found.group_order == 72
        assert all(copy.relabel(generator) == copy for generator in found.generators)
        assert np.array_equal(found.orbits, explore(copy).orbits)
        forms.add(copy.relabel(found.labelling))
    assert len(forms) == 1
