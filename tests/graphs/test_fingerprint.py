"""Fingerprints are equal for graphs that 1-WL cannot tell apart, and differ for all others that were tried."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graphs.test_refinement import labelled_graphs

from pfgnn.data import Dataset
from pfgnn.data.undirected import undirected
from pfgnn.graphs import (
    Graph,
    circulant,
    csl,
    disjoint_union,
    orbits,
    random_graph,
    random_tree,
    refine,
    rook,
    shrikhande,
    wl_equivalent,
)
from pfgnn.graphs.fingerprint import Fingerprints, fingerprints


def found(graphs: Sequence[Graph]) -> Fingerprints:
    return fingerprints(*undirected(Dataset.from_graphs(graphs, np.zeros(len(graphs)))))


def partition(labels: object) -> list[int]:
    return np.unique(np.asarray(labels), return_inverse=True)[1].tolist()


def same_cells(left: object, right: object) -> bool:
    pairs = set(zip(partition(left), partition(right), strict=True))
    return len(pairs) == len(set(partition(left))) == len(set(partition(right)))


@given(st.lists(labelled_graphs().filter(lambda graph: graph.x is None and graph.edge_attr is None), min_size=2))
@settings(max_examples=40, deadline=None)
def test_fingerprints_are_equal_for_what_1_wl_takes_for_equal(graphs: list[Graph]) -> None:
    prints = found(graphs).graphs
    for i, left in enumerate(graphs):
        for j, right in enumerate(graphs[:i]):
            assert (prints[i] == prints[j]) == wl_equivalent(left, right)


@given(labelled_graphs(), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_vertices_have_the_cells_of_refinement(graph: Graph, seed: int) -> None:
    one = found([graph])
    assert same_cells(one.vertices, refine(graph))
    other = graph.relabel(np.random.default_rng(seed).permutation(graph.num_nodes))
    both = found([graph, other])  # with labels, whatever else is in the batch
    assert both.graphs[0] == both.graphs[1] == one.graphs[0]
    assert sorted(both.vertices[: graph.num_nodes]) == sorted(both.vertices[graph.num_nodes :])


@given(labelled_graphs())
@settings(max_examples=60, deadline=None)
def test_cells_are_orbits_where_it_is_sure(graph: Graph) -> None:
    if not found([graph]).unsure.any():
        assert same_cells(orbits(graph), refine(graph))


def test_a_graph_whose_cells_are_not_orbits_is_unsure(seed: int) -> None:
    rings = disjoint_union(circulant(6, [1]), circulant(3, [1]), circulant(3, [1]))
    tail = Graph.from_edges(7, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (5, 6)])
    tree = random_tree(30, np.random.default_rng(seed))
    first, second, third = (found([graph]).unsure for graph in (rings, tail, tree))
    assert first.all()
    assert not same_cells(orbits(rings), refine(rings))
    assert not second.any()
    assert not third.any()


def test_labels_count_by_value() -> None:
    path = Graph.from_edges(2, [(0, 1)])
    marked = [Graph(2, path.edges, np.array([[a], [b]])) for a, b in ((0, 1), (1, 0), (0, 2))]
    joined = [Graph(2, path.edges, None, np.array([[a]])) for a in (0.0, -0.0, 0.5)]
    for graphs in (marked, joined):
        first, second, third = found(graphs).graphs.tolist()
        assert first == second != third


def test_no_two_of_many_graphs_share_one_by_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = [random_graph(12, 20, rng) for _ in range(300)]
    prints = found(graphs).graphs
    groups: dict[int, list[Graph]] = {}
    for graph, mark in zip(graphs, prints.tolist(), strict=True):
        groups.setdefault(mark, []).append(graph)
    assert len(groups) > 200
    assert all(wl_equivalent(group[0], other) for group in groups.values() for other in group[1:])


def test_famous_pairs_share_one() -> None:
    pairs = [(shrikhande(), rook(4)), (csl(41, 2), csl(41, 9))]
    assert all(len(set(found(pair).graphs.tolist())) == 1 for pair in pairs)
