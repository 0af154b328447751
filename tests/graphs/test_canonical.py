import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.suite import slow

from pfgnn.graphs import (
    Graph,
    automorphism_count,
    automorphism_generators,
    certificate,
    cfi,
    cfi_pair,
    circulant,
    csl,
    disjoint_union,
    from_networkx,
    is_isomorphic,
    isomorphism,
    orbits,
    paley,
    random_graph,
    random_regular,
    random_tree,
    read_graph6,
    rook,
    search,
    shrikhande,
    wl_equivalent,
)
from pfgnn.graphs.refinement import initial_colours

PETERSEN = from_networkx(nx.petersen_graph())


@pytest.fixture(params=["nauty", "own search"])
def _each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with pynauty, and again as if it were not installed."""
    if request.param == "nauty":
        pytest.importorskip("pynauty")
    else:
        monkeypatch.setattr("pfgnn.graphs.nauty.pynauty", None)


def to_nauty(graph: Graph) -> Any:
    """The graph for pynauty, its node labels as a vertex colouring in the order of the labels."""
    pynauty = pytest.importorskip("pynauty")
    adjacency: dict[int, list[int]] = {}
    for u, v in graph.edges.tolist():
        adjacency.setdefault(u, []).append(v)
    colours = initial_colours(graph)
    cells = [set(np.flatnonzero(colours == colour).tolist()) for colour in np.unique(colours)]
    return pynauty.Graph(graph.num_nodes, adjacency_dict=adjacency, vertex_coloring=cells)


def nauty_class(graph: Graph) -> object:
    """What nauty's certificate leaves out goes beside it: the number of nodes and the labels."""
    labels = None if graph.x is None else tuple(sorted(map(tuple, graph.x.tolist())))
    return graph.num_nodes, labels, pytest.importorskip("pynauty").certificate(to_nauty(graph))


def nauty_order(graph: Graph) -> int:
    _, mantissa, exponent, _, _ = pytest.importorskip("pynauty").autgrp(to_nauty(graph))
    return round(mantissa * 10**exponent)


def classes_agreed_with_nauty(graphs: list[Graph]) -> int:
    """Number of isomorphism classes, having checked classes, group orders and relabelled copies against nauty."""
    rng = np.random.default_rng(0)
    ours, theirs = [], []
    for graph in graphs:
        found = search(graph)
        form = graph.relabel(found.labelling)
        copy = graph.relabel(rng.permutation(graph.num_nodes))
        again = search(copy)
        assert copy.relabel(again.labelling) == form
        assert found.group_order == again.group_order == nauty_order(graph)
        assert all(graph.relabel(generator) == graph for generator in found.generators)
        ours.append(form)
        theirs.append(nauty_class(graph))
    pairs = set(zip(ours, theirs, strict=True))
    assert len(pairs) == len(set(ours)) == len(set(theirs))
    return len(pairs)


@pytest.mark.slow
def test_every_graph_with_up_to_seven_nodes() -> None:
    graphs = [from_networkx(graph) for graph in nx.graph_atlas_g()[1:]]
    assert classes_agreed_with_nauty(graphs) == len(graphs) == 1252


def test_strongly_regular_graphs(data_dir: Path) -> None:
    graphs = read_graph6(data_dir / "sr25" / "sr251256.g6")
    assert classes_agreed_with_nauty(graphs) == len(graphs) == 15


@pytest.mark.usefixtures("_each_engine")
def test_circular_skip_link_graphs(data_dir: Path) -> None:
    graphs = read_graph6(data_dir / "csl" / "csl.g6")
    certificates = [certificate(graph) for graph in graphs]
    assert all(certificates[i] == certificates[15 * (i // 15)] for i in range(150))
    assert len(set(certificates)) == 10
    skips = [2, 3, 4, 5, 6, 9, 11, 12, 13, 16]
    assert certificates[::15] == [certificate(csl(41, skip)) for skip in skips]


def test_groups_of_circular_skip_link_graphs(data_dir: Path) -> None:
    assert classes_agreed_with_nauty(read_graph6(data_dir / "csl" / "csl.g6")[::15]) == 10


@pytest.mark.parametrize(
    "build",
    [
        lambda rng: [random_regular(n, d, rng) for n, d in [(8, 3)] * 20 + [(10, 4)] * 10 + [(30, 3)] * 5 + [(24, 7)]],
        lambda rng: [random_tree(n, rng) for n in [8] * 30 + [40] * 5],
        lambda rng: [random_graph(n, m, rng) for n, m in [(6, 7)] * 30 + [(12, 9)] * 10 + [(40, 70)] * 5],
        lambda rng: [disjoint_union(random_graph(4, 3, rng), random_graph(5, 4, rng)) for _ in range(30)],
        lambda _: [*cfi_pair(circulant(4, [1, 2])), *cfi_pair(circulant(5, [1, 2])), *cfi_pair(PETERSEN)],
        lambda _: [cfi(circulant(5, [1, 2]), twisted) for twisted in ([1], [2, 7], [0, 3, 9])],
        lambda _: [rook(4), shrikhande(), rook(5), paley(13), paley(29), PETERSEN],
        lambda _: [Graph.from_edges(n, []) for n in (1, 2, 12)] + [circulant(12, range(1, 7))],
        lambda _: [from_networkx(nx.hypercube_graph(d)) for d in (3, 4, 5)],
        lambda _: [disjoint_union(*[PETERSEN] * 3), disjoint_union(*[circulant(3, [1])] * 5)],
        lambda rng: [
            disjoint_union(circulant(3, [1]), circulant(n, [1])).relabel(rng.permutation(3 + n))
            for n in (4, 5, 6)
            for _ in range(4)
        ],
        lambda rng: [disjoint_union(*[random_regular(12, 3, rng)] * 2) for _ in range(3)],
    ],
    ids=[
        *("regular", "trees", "random", "disconnected", "cfi", "twists", "strongly_regular", "empty_and_complete"),
        *("hypercubes", "equal_components", "unequal_cycles", "equal_regular_components"),
    ],
)
def test_families(build: Callable[[np.random.Generator], list[Graph]]) -> None:
    assert classes_agreed_with_nauty(build(np.random.default_rng(1))) > 0


def test_node_labels_count() -> None:
    rng = np.random.default_rng(2)
    graphs = []
    for _ in range(60):
        plain = random_graph(6, 6, rng)
        graphs.append(Graph(6, plain.edges, rng.integers(2, size=(6, 1))))
        graphs.append(Graph(6, circulant(6, [1]).edges, rng.integers(2, size=(6, 2)) / 4))
    assert classes_agreed_with_nauty(graphs) > 20


@cache
def _renamings(n: int) -> list[tuple[int, ...]]:
    return list(permutations(range(n)))


def _brute_force(left: Graph, right: Graph) -> int:
    """Number of isomorphisms, by trying every renaming."""
    return sum(left.relabel(names) == right for names in _renamings(left.num_nodes))


@pytest.mark.slow
@pytest.mark.usefixtures("_each_engine")
def test_edge_labels_count() -> None:
    rng = np.random.default_rng(3)
    graphs = []
    for _ in range(12):
        edges = random_graph(4, 4, rng).edges
        graphs.append(Graph(4, edges, None, rng.integers(2, size=(4, 1))))
        graphs.append(Graph(4, edges, rng.integers(2, size=(4, 1)), rng.integers(2, size=(4, 1)) / 2))
    certificates = [certificate(graph) for graph in graphs]
    for left, left_bytes in zip(graphs, certificates, strict=True):
        assert automorphism_count(left) == _brute_force(left, left)
        for right, right_bytes in zip(graphs, certificates, strict=True):
            expected = _brute_force(left, right) > 0
            assert is_isomorphic(left, right) is expected
            assert (left_bytes == right_bytes) is expected


@pytest.mark.usefixtures("_each_engine")
def test_isomorphism_maps_one_graph_to_the_other() -> None:
    rng = np.random.default_rng(4)
    plain = random_regular(20, 4, rng)
    left = Graph(20, plain.edges, rng.integers(2, size=(20, 1)), rng.integers(3, size=(40, 1)))
    right = left.relabel(rng.permutation(20))
    mapping = isomorphism(left, right)
    assert mapping is not None
    assert left.relabel(mapping) == right
    assert isomorphism(rook(4), shrikhande()) is None
    assert isomorphism(circulant(5, [1]), circulant(6, [1])) is None


@pytest.mark.usefixtures("_each_engine")
def test_certificates_depend_on_values_and_not_dtypes() -> None:
    graph = Graph.from_edges(3, [(0, 1)], [[0], [1], [2]], [[1]])
    same = Graph.from_edges(3, [(2, 1)], np.array([[2], [1], [-0.0]], dtype=np.float32), np.array([[1]], dtype=np.int8))
    assert certificate(graph) == certificate(same)
    assert certificate(graph) != certificate(Graph.from_edges(3, [(0, 1)], [[0], [1], [3]], [[1]]))
    assert certificate(graph) != certificate(Graph.from_edges(3, [(0, 1)], [[0], [1], [2]]))
    assert certificate(Graph.from_edges(2, [])) != certificate(Graph.from_edges(2, [], [[0], [0]]))


@pytest.mark.usefixtures("_each_engine")
def test_orbits_and_generators() -> None:
    star = Graph.from_edges(5, [(2, 0), (2, 1), (2, 3), (2, 4)])
    assert orbits(star).tolist() == [0, 0, 2, 0, 0]
    assert not orbits(PETERSEN).any()
    assert orbits(Graph.from_edges(3, [(0, 1)])).tolist() == [0, 0, 2]
    rigid = Graph.from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 4), (1, 5), (2, 5)])
    assert automorphism_generators(rigid).shape == (0, 6)
    assert orbits(rigid).tolist() == list(range(6))


def large_pairs() -> dict[str, tuple[Graph, Graph]]:
    """Pairs of graphs that are too large to go to nauty as they are: not isomorphic, but 1-WL gives both the same."""
    rng = np.random.default_rng(7)
    plain, twisted = cfi_pair(PETERSEN)
    isolated = Graph.from_edges(4, [])
    cubic, cube = circulant(8, [1, 4]), from_networkx(nx.cubical_graph())
    return {
        "regular": (random_regular(60, 3, rng), random_regular(60, 3, rng)),
        "pieces": (
            disjoint_union(*[rook(4)] * 4, *[shrikhande()] * 2, isolated),
            disjoint_union(*[rook(4)] * 3, *[shrikhande()] * 3, isolated),
        ),
        "cfi": (disjoint_union(plain, plain), disjoint_union(plain, twisted)),
        "cubic": (disjoint_union(*[cubic] * 7, cube), disjoint_union(*[cubic] * 6, cube, cube)),
    }


@pytest.mark.usefixtures("_each_engine")
@pytest.mark.parametrize("name", ["regular", slow("pieces"), slow("cfi"), slow("cubic")])
def test_large_graphs(name: str) -> None:
    graph, other = large_pairs()[name]
    copy = graph.relabel(np.random.default_rng(8).permutation(graph.num_nodes))
    assert certificate(copy) == certificate(graph) != certificate(other)
    assert wl_equivalent(graph, other)
    assert not is_isomorphic(graph, other)
    assert automorphism_count(copy) == search(graph).group_order
    assert all(graph.relabel(generator) == graph for generator in automorphism_generators(graph))

    vertices = range(0, graph.num_nodes, 7)
    marked = [certificate(Graph(graph.num_nodes, graph.edges, np.eye(graph.num_nodes)[:, [v]])) for v in vertices]
    same_form = [[left == right for right in marked] for left in marked]
    found = orbits(graph)[vertices]
    assert np.array_equal(found[:, None] == found, same_form)


def test_own_search_takes_over_where_a_piece_is_too_large_for_nauty(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pynauty")
    graph, other = large_pairs()["regular"]
    by_nauty = automorphism_count(graph)
    monkeypatch.setattr("pfgnn.graphs.canonical.MOST_FOR_NAUTY", 59)
    monkeypatch.setattr("pfgnn.graphs.canonical.nauty_search", None)  # to call it would be an error
    assert automorphism_count(graph) == by_nauty
    assert certificate(graph.relabel(np.random.default_rng(9).permutation(60))) == certificate(graph)
    assert certificate(graph) != certificate(other)


def test_without_pynauty_everything_can_be_imported_and_used() -> None:
    code = """
import sys
sys.modules["pynauty"] = None  # importing it now fails
from pfgnn.graphs import automorphism_count, certificate, is_isomorphic, orbits, rook, shrikhande
from pfgnn.graphs.nauty import is_installed
assert not is_installed()
assert automorphism_count(rook(4)) == 1152
assert not orbits(rook(4)).any()
assert certificate(rook(4)) == certificate(rook(4).relabel(range(15, -1, -1)))
assert not is_isomorphic(rook(4), shrikhande())
"""
    subprocess.run([sys.executable, "-c", code], check=True)
