from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfgnn.graphs import (
    Graph,
    cfi_pair,
    circulant,
    csl,
    disjoint_union,
    is_equitable,
    random_graph,
    random_regular,
    random_tree,
    refine,
    refine_many,
    rook,
    shrikhande,
    wl_equivalent,
)
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.refinement import colouring_certificate


@st.composite
def labelled_graphs(draw: st.DrawFn) -> Graph:
    """Random graphs of up to 12 nodes, with node and edge labels from none to three kinds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 12))
    m = draw(st.integers(0, n * (n - 1) // 2))
    kinds = draw(st.integers(0, 3))
    edges = random_graph(n, m, rng).edges
    return Graph(
        n,
        edges,
        rng.integers(kinds, size=(n, 2)) if kinds and draw(st.booleans()) else None,
        rng.integers(kinds, size=(m, 1)) / 2 if kinds and draw(st.booleans()) else None,
    )


def naive_refine(graph: Graph) -> list[object]:
    """1-WL as the textbook has it: colours are nested tuples, refined n times."""
    arcs = [(u, v, i) for i, (u, v) in enumerate(graph.edges.tolist())]
    arcs += [(v, u, i) for u, v, i in arcs]
    label = [() if graph.edge_attr is None else tuple(graph.edge_attr[i].tolist()) for i in range(graph.num_edges)]
    colours: list[object] = [() if graph.x is None else tuple(graph.x[v].tolist()) for v in range(graph.num_nodes)]
    for _ in range(graph.num_nodes):
        seen = [Counter((label[i], colours[w]) for v, w, i in arcs if v == u) for u in range(graph.num_nodes)]
        keys = [(colours[v], frozenset(seen[v].items())) for v in range(graph.num_nodes)]
        names = {key: name for name, key in enumerate(dict.fromkeys(keys))}
        colours = [names[key] for key in keys]
    return colours


def same_partition(left: IntArray, right: list[object]) -> bool:
    pairs = set(zip(left.tolist(), right, strict=True))
    return len(pairs) == len(set(left.tolist())) == len(set(right))


def assert_start_positions(colours: IntArray) -> None:
    """Each colour is the number of vertices with a lower colour."""
    assert np.array_equal(colours, np.searchsorted(np.sort(colours), colours))


@given(labelled_graphs(), st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_refine_is_the_naive_partition_and_invariant(graph: Graph, seed: int) -> None:
    colours = refine(graph)
    assert same_partition(colours, naive_refine(graph))
    assert is_equitable(graph, colours)
    assert_start_positions(colours)
    permutation = np.random.default_rng(seed).permutation(graph.num_nodes)
    assert np.array_equal(refine(graph.relabel(permutation))[permutation], colours)


@given(labelled_graphs(), st.integers(0, 2**32), st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_refine_many_equals_separate_calls(graph: Graph, seed: int, copies: int) -> None:
    start = np.random.default_rng(seed).integers(-2, 3, size=(copies, graph.num_nodes))
    together = refine_many(graph, start)
    for row, colours in zip(start, together, strict=True):
        assert np.array_equal(refine(graph, row), colours)


@given(labelled_graphs(), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_refinement_keeps_the_order_of_given_colours(graph: Graph, seed: int) -> None:
    start = np.random.default_rng(seed).integers(3, size=graph.num_nodes)
    colours = refine(graph, start)
    lower = start[:, None] < start
    assert (colours[:, None] < colours)[lower].all()
    assert is_equitable(graph, colours)


def test_is_equitable_sees_degrees_colours_and_edge_labels() -> None:
    path = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    assert not is_equitable(path, np.array([0, 0, 0, 0]))
    assert is_equitable(path, np.array([0, 2, 2, 0]))
    assert not is_equitable(path, np.array([0, 2, 2, 1]))
    square = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)], edge_attr=[[1], [1], [1], [2]])
    assert not is_equitable(square, np.array([0, 0, 0, 0]))
    assert is_equitable(square, np.array([0, 2, 2, 0]))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (disjoint_union(circulant(3, [1]), circulant(3, [1])), circulant(6, [1]), True),
        (rook(4), shrikhande(), True),
        (csl(41, 2), csl(41, 9), True),
        (*cfi_pair(circulant(5, [1, 2])), True),
        (circulant(6, [1]), circulant(6, [2]), True),
        (circulant(6, [1]), circulant(7, [1]), False),
        (Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]), Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)]), False),
        (Graph.from_edges(2, [], [[1], [2]]), Graph.from_edges(2, [], [[2.0], [1.0]]), True),
        (Graph.from_edges(2, [], [[1], [2]]), Graph.from_edges(2, [], [[1], [3]]), False),
        (Graph.from_edges(2, [], [[1], [2]]), Graph.from_edges(2, []), False),
        (Graph.from_edges(2, [(0, 1)], None, [[1]]), Graph.from_edges(2, [(0, 1)], None, [[2]]), False),
    ],
)
def test_wl_equivalent(left: Graph, right: Graph, same: bool) -> None:
    assert wl_equivalent(left, right) is same


def test_wl_decides_isomorphism_of_trees() -> None:
    rng = np.random.default_rng(0)
    trees = [random_tree(30, rng) for _ in range(5)]
    assert not any(wl_equivalent(left, right) for left in trees for right in trees if left is not right)
    assert all(wl_equivalent(tree, tree.relabel(rng.permutation(30))) for tree in trees)


def test_regular_graphs_stay_one_cell() -> None:
    assert not refine(random_regular(200, 4, np.random.default_rng(0))).any()


@pytest.mark.slow
def test_large_random_graph() -> None:
    rng = np.random.default_rng(0)
    edges = random_graph(100_000, 500_000, rng).edges
    graph = Graph(100_000, edges, rng.integers(2, size=(100_000, 1)), rng.integers(3, size=(500_000, 1)))
    for large in (graph, Graph(100_000, edges)):
        colours = refine(large)
        assert is_equitable(large, colours)
        assert_start_positions(colours)


def test_large_graphs_with_hubs_and_long_paths() -> None:
    n = 100_000
    star = Graph.from_edges(n, np.stack([np.zeros(n - 1, dtype=np.int64), np.arange(1, n)], axis=1))
    assert np.bincount(refine(star)).tolist() == [n - 1] + [0] * (n - 2) + [1]
    branches = 300
    spokes = np.arange(1, branches + 1)
    twigs = np.stack([np.repeat(spokes, branches), np.arange(branches**2) + branches + 1], axis=1)
    hub = np.stack([np.zeros(branches, dtype=np.int64), spokes], axis=1)
    tree = Graph(1 + branches + branches**2, np.concatenate([hub, twigs]))
    assert len(np.unique(refine(tree))) == 3
    path = Graph.from_edges(5000, np.stack([np.arange(4999), np.arange(1, 5000)], axis=1))
    assert len(np.unique(refine(path))) == 2500


def test_bad_colours_are_refused() -> None:
    graph = circulant(5, [1])
    with pytest.raises(ValueError, match=r"colours must have shape \[5\], but it has \[4\]"):
        refine(graph, np.zeros(4, dtype=np.int64))
    with pytest.raises(ValueError, match=r"colours must have shape \[B, 5\], but it has \[5\]"):
        refine_many(graph, np.zeros(5, dtype=np.int64))
    with pytest.raises(TypeError, match="colours must hold integers, but it has dtype float64"):
        refine(graph, np.zeros(5))


def same_certificate(left: Graph, right: Graph) -> bool:
    one, other = (colouring_certificate(graph, refine(graph)) for graph in (left, right))
    return one == other


@settings(max_examples=200, deadline=None)
@given(labelled_graphs(), labelled_graphs(), st.integers(0, 2**32))
def test_certificates_are_equal_if_1_wl_cannot_tell_graphs_apart(left: Graph, right: Graph, seed: int) -> None:
    copy = left.relabel(np.random.default_rng(seed).permutation(left.num_nodes))
    assert same_certificate(left, copy)
    assert same_certificate(left, right) == wl_equivalent(left, right)


def test_certificates_of_graphs_that_1_wl_confuses() -> None:
    triangles = disjoint_union(circulant(3, [1]), circulant(3, [1]))
    rng = np.random.default_rng(0)
    for left, right in [
        (rook(4), shrikhande()),
        (csl(13, 2), csl(13, 5)),
        (triangles, circulant(6, [1])),
        cfi_pair(rook(2)),
        (random_regular(20, 3, rng), random_regular(20, 3, rng)),
    ]:
        assert same_certificate(left, right)
    small = [random_graph(6, m, rng) for m in range(4, 9) for _ in range(4)]
    for left in small:
        for right in small:
            assert same_certificate(left, right) == wl_equivalent(left, right)


def test_certificates_compare_labels_by_value() -> None:
    pair = [(0, 1)]
    plain, edge = Graph.from_edges(2, pair), Graph.from_edges(2, pair, edge_attr=[[3]])
    assert not same_certificate(plain, edge)
    assert not same_certificate(edge, Graph.from_edges(2, pair, edge_attr=[[4]]))
    assert same_certificate(edge, Graph.from_edges(2, pair, edge_attr=[[3.0]]))
    assert not same_certificate(plain, Graph.from_edges(2, pair, [[0], [0]]))
    assert not same_certificate(Graph.from_edges(2, pair, [[0], [1]]), Graph.from_edges(2, pair, [[0], [2]]))
    assert same_certificate(Graph.from_edges(2, pair, [[0.0], [1.0]]), Graph.from_edges(2, pair, [[1.0], [-0.0]]))
