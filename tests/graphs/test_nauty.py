from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.graphs.test_refinement import labelled_graphs

from pfgnn.graphs import (
    Graph,
    SearchResult,
    cfi_pair,
    circulant,
    disjoint_union,
    random_graph,
    random_regular,
    random_tree,
    rook,
    search,
    shrikhande,
)
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.nauty import exact_order, nauty_labelling, nauty_search, num_layers

pynauty = pytest.importorskip("pynauty")


def form(graph: Graph) -> Graph:
    return graph.relabel(nauty_labelling(graph))


def agree(graph: Graph, permutation: IntArray) -> SearchResult:
    """Check nauty's result against our own search, and against that of a copy."""
    ours, theirs, copy = search(graph), nauty_search(graph), graph.relabel(permutation)
    assert form(copy) == form(graph) == graph.relabel(theirs.labelling)
    assert theirs.group_order == ours.group_order
    assert np.array_equal(theirs.orbits, ours.orbits)
    assert all(graph.relabel(generator) == graph for generator in theirs.generators)
    assert exact_order(theirs.generators) == ours.group_order
    return ours


@settings(deadline=None, max_examples=200)
@given(labelled_graphs())
def test_labelled_graphs(graph: Graph) -> None:
    agree(graph, np.random.default_rng(0).permutation(graph.num_nodes))


def test_classes_are_those_of_our_own_search() -> None:
    rng = np.random.default_rng(1)
    graphs = [random_graph(7, 8, rng) for _ in range(60)]
    graphs += [Graph(7, graph.edges, None, rng.integers(3, size=(8, 1))) for graph in graphs[:30]]
    graphs += [Graph(6, circulant(6, [1]).edges, rng.integers(2, size=(6, 1))) for _ in range(30)]
    graphs += [random_regular(10, 3, rng) for _ in range(60)]
    graphs += [*cfi_pair(circulant(4, [1, 2])), *cfi_pair(circulant(5, [1, 2])), rook(4), shrikhande()]
    pairs = {(form(g), g.relabel(agree(g, rng.permutation(g.num_nodes)).labelling)) for g in graphs}
    assert len(pairs) == len({theirs for theirs, _ in pairs}) == len({ours for _, ours in pairs})
    assert 60 < len(pairs) < len(graphs)


def test_edge_labels_tell_graphs_apart() -> None:
    square = circulant(4, [1]).edges  # (0, 1), (0, 3), (1, 2), (2, 3)
    side_by_side = Graph(4, square, None, np.array([[1], [1], [2], [2]]))
    opposite = Graph(4, square, None, np.array([[1], [2], [2], [1]]))
    assert form(side_by_side) != form(opposite)
    assert nauty_search(side_by_side).group_order == 2
    assert nauty_search(opposite).group_order == 4


@pytest.mark.parametrize(("labels", "layers"), [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4)])
def test_layers(labels: int, layers: int) -> None:
    star = [(0, leaf) for leaf in range(1, 9)]
    graph = Graph.from_edges(9, star, None, np.minimum(np.arange(8), labels - 1)[:, None])
    assert num_layers(graph) == layers
    assert nauty_search(graph).group_order == factorial(9 - labels)


def test_the_order_of_large_groups_is_exact() -> None:
    rng = np.random.default_rng(2)
    complete, petersen = circulant(60, range(1, 31)), Graph.from_edges(10, _petersen())
    assert nauty_search(complete).group_order == factorial(60)
    assert nauty_search(disjoint_union(*[petersen] * 4)).group_order == 120**4 * 24
    sizes = []
    for graph in [random_tree(60, rng) for _ in range(10)] + [random_graph(40, 15, rng) for _ in range(10)]:
        sizes.append(agree(graph, rng.permutation(graph.num_nodes)).group_order)
    assert max(sizes) > 10**15  # where nauty's own count is rounded


def _petersen() -> Any:
    rim, star = [(i, (i + 1) % 5) for i in range(5)], [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    return rim + star + [(i, i + 5) for i in range(5)]
