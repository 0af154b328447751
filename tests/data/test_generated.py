import pickle
import random
from collections.abc import Callable
from functools import partial
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from pfgnn.data import generated
from pfgnn.data.generated import Generated
from pfgnn.graphs import circulant, csl, is_isomorphic, to_networkx

PAIRED = [generated.connectivity, generated.planarity, generated.bipartiteness]
SMALL: dict[str, Callable[[np.random.Generator], Generated]] = {
    "csl": partial(generated.csl, nodes=13, skips=(2, 3, 5), copies=4),
    "triangles": partial(generated.triangles, train=100, validation=50, test=50, test_large=20),
    "lcc": partial(generated.lcc, train=20, test=10, test_large=5),
    "connectivity": partial(generated.connectivity, train=20, test=10),
    "planarity": partial(generated.planarity, train=6, test=2),
    "bipartiteness": partial(generated.bipartiteness, train=20, test=10),
}


def draw(name: str, seed: int = 0) -> Generated:
    return SMALL[name](np.random.default_rng(seed))


def global_state() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002


def edges_among_neighbours(graph: nx.Graph) -> list[int]:
    return [sum(graph.has_edge(u, v) for u, v in combinations(graph[node], 2)) for node in sorted(graph)]


@pytest.mark.parametrize("name", SMALL)
def test_same_seed_same_data(name: str) -> None:
    first, again, other = draw(name), draw(name), draw(name, seed=1)
    assert first.graphs == again.graphs != other.graphs
    assert np.array_equal(first.labels, again.labels)
    assert first.labels.dtype == np.int64


@pytest.mark.parametrize("name", SMALL)
def test_global_generators_are_left_alone(name: str) -> None:
    before = global_state()
    draw(name)
    assert global_state() == before


@pytest.mark.parametrize("name", SMALL)
def test_parts_follow_each_other(name: str) -> None:
    data = draw(name)
    sizes = {
        "csl": {},
        "triangles": {"train": 100, "validation": 50, "test": 50, "test-large": 20},
        "lcc": {"train": 20, "test": 10, "test-large": 5},
        "planarity": {"train": 6, "test": 2},
    }
    assert {part: len(graphs) for part, graphs in data.splits.items()} == sizes.get(name, {"train": 20, "test": 10})
    if data.splits:
        assert np.concatenate(list(data.splits.values())).tolist() == list(range(len(data.graphs)))


def test_csl_classes_are_relabelled_circulants() -> None:
    skips = (2, 3, 5)
    data = draw("csl")
    assert data.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert len(set(data.graphs)) == 12
    for graph, label in zip(data.graphs, data.labels, strict=True):
        assert is_isomorphic(graph, csl(13, skips[label]))


def test_csl_is_the_published_construction_by_default() -> None:
    data = generated.csl(np.random.default_rng(0))
    assert np.bincount(data.labels).tolist() == [15] * 10
    assert {(graph.num_nodes, graph.num_edges) for graph in data.graphs} == {(41, 82)}
    assert all((graph.degrees == 4).all() for graph in data.graphs)


def test_triangles_labels_are_counts_and_balanced() -> None:
    data = draw("triangles")
    for graph, label in zip(data.graphs, data.labels, strict=True):
        assert sum(nx.triangles(to_networkx(graph)).values()) == 3 * label
    for part in data.splits.values():
        assert np.bincount(data.labels[part], minlength=11).tolist() == [0] + [len(part) // 10] * 10


def test_triangles_graphs_have_the_stated_sizes() -> None:
    data = draw("triangles")
    for part, numbers in data.splits.items():
        graphs = [data.graphs[i] for i in numbers]
        allowed = range(26, 101) if part == "test-large" else range(4, 26)
        assert {graph.num_nodes for graph in graphs} <= set(allowed)
        assert all(graph.num_nodes <= graph.num_edges < 2 * graph.num_nodes for graph in graphs)


def test_triangles_never_repeats_a_graph_and_deals_them_at_random() -> None:
    data = generated.triangles(np.random.default_rng(0), train=300, validation=400, test=300, test_large=0)
    assert len(set(data.graphs)) == 1000
    # One candidate in 44 is the complete graph on 4 nodes, so in order of drawing it would always fall into train.
    assert data.graphs.index(circulant(4, [1, 2])) not in data.splits["train"]


@pytest.mark.parametrize(("nodes", "large_nodes"), [(20, 100), (6, 8)])
def test_lcc_labels_connected_cubic_graphs(nodes: int, large_nodes: int) -> None:
    data = generated.lcc(
        np.random.default_rng(0), train=20, test=10, test_large=5, nodes=nodes, large_nodes=large_nodes
    )
    graphs = [to_networkx(graph) for graph in data.graphs]
    assert [len(graph) for graph in graphs] == [nodes] * 30 + [large_nodes] * 5
    assert all(nx.is_connected(graph) and set(dict(graph.degree).values()) == {3} for graph in graphs)
    assert data.labels.tolist() == [count for graph in graphs for count in edges_among_neighbours(graph)]
    assert set(data.labels.tolist()) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("generate", "has_property"),
    [
        (generated.connectivity, nx.is_connected),
        (generated.planarity, nx.is_planar),
        (generated.bipartiteness, nx.is_bipartite),
    ],
)
def test_property_labels_are_true_and_balanced(
    generate: Callable[..., Generated], has_property: Callable[[nx.Graph], bool]
) -> None:
    data = generate(np.random.default_rng(0))
    assert [int(has_property(to_networkx(graph))) for graph in data.graphs] == data.labels.tolist()
    assert {graph.num_nodes for graph in data.graphs} == {20}
    assert {part: np.bincount(data.labels[numbers]).tolist() for part, numbers in data.splits.items()} == {
        "train": [50, 50],
        "test": [20, 20],
    }
    assert len(set(data.graphs)) == 140


@pytest.mark.parametrize("nodes", [2, 3, 5, 20])
def test_connectivity_pairs_differ_by_one_edge_between_two_connected_halves(nodes: int) -> None:
    data = generated.connectivity(np.random.default_rng(1), train=20, test=20, nodes=nodes)
    for apart, joined in zip(data.graphs[::2], data.graphs[1::2], strict=True):
        halves = sorted(len(half) for half in nx.connected_components(to_networkx(apart)))
        assert halves == [nodes // 2, nodes - nodes // 2]
        ((u, v),) = set(map(tuple, joined.edges.tolist())) - set(map(tuple, apart.edges.tolist()))
        assert joined.num_edges == apart.num_edges + 1
        assert u < nodes // 2 <= v


def test_connectivity_is_not_told_by_the_number_of_edges() -> None:
    data = generated.connectivity(np.random.default_rng(1))
    edges = np.array([graph.num_edges for graph in data.graphs])
    best = max(((edges > threshold) == data.labels).mean() for threshold in range(60))
    assert best < 0.6


@pytest.mark.parametrize("nodes", [6, 20])
def test_planarity_graphs_are_cubic(nodes: int) -> None:
    data = generated.planarity(np.random.default_rng(1), train=10, test=4, nodes=nodes)
    assert all((graph.degrees == 3).all() for graph in data.graphs)


@pytest.mark.parametrize("nodes", [4, 5, 6, 20])
def test_bipartiteness_pairs_share_all_but_one_edge(nodes: int) -> None:
    data = generated.bipartiteness(np.random.default_rng(1), train=40, test=40, nodes=nodes)
    assert [nx.is_bipartite(to_networkx(graph)) for graph in data.graphs] == [False, True] * 40
    for odd, even in zip(data.graphs[::2], data.graphs[1::2], strict=True):
        odd_edges, even_edges = (set(map(tuple, graph.edges.tolist())) for graph in (odd, even))
        ((u, v),) = odd_edges - even_edges
        assert (u < nodes // 2) == (v < nodes // 2)
        assert all(u < nodes // 2 <= v for u, v in even_edges)
        assert len(even_edges - odd_edges) == 1


@pytest.mark.parametrize(
    ("generate", "message"),
    [
        (partial(generated.csl, copies=-1), "copies must be at least 0, but it is -1"),
        (partial(generated.csl, skips=(2, 3, 2)), r"skips must hold each skip once, but it is \(2, 3, 2\)"),
        (partial(generated.csl, nodes=20), "skip must be .* for 20 nodes, but it is 11"),
        (partial(generated.triangles, train=105), "train must be at least 0 and a multiple of 10, but it is 105"),
        (partial(generated.lcc, nodes=21), "nodes must be at least 6 and a multiple of 2, but it is 21"),
        (partial(generated.lcc, large_nodes=4), "large_nodes must be at least 6 and a multiple of 2, but it is 4"),
        (partial(generated.connectivity, nodes=1), "nodes must be at least 2, but it is 1"),
        (partial(generated.planarity, nodes=4), "nodes must be at least 6 and a multiple of 2, but it is 4"),
        (partial(generated.bipartiteness, nodes=3), "nodes must be at least 4, but it is 3"),
        *[(partial(generate, test=3), "test must be .* a multiple of 2, but it is 3") for generate in PAIRED],
    ],
)
def test_wrong_values_are_refused(generate: Callable[[np.random.Generator], Generated], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate(np.random.default_rng(0))


def test_sizes_must_be_integers() -> None:
    with pytest.raises(TypeError, match="train must be an integer, not float"):
        generated.lcc(np.random.default_rng(0), train=10.0)  # type: ignore[arg-type]
