import networkx as nx
import numpy as np
import pytest

from pfgnn.graphs import (
    Graph,
    cfi,
    cfi_pair,
    circulant,
    csl,
    from_networkx,
    is_isomorphic,
    paley,
    random_graph,
    random_regular,
    random_tree,
    rook,
    shrikhande,
    to_networkx,
    wl_equivalent,
)

K4 = circulant(4, [1, 2])
BASES = [
    circulant(3, [1]),
    circulant(6, [1]),
    K4,
    circulant(5, [1, 2]),
    from_networkx(nx.complete_bipartite_graph(3, 3)),
    from_networkx(nx.petersen_graph()),
    Graph.from_edges(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]),  # a triangle with a tail
]


def strongly_regular_parameters(graph: Graph) -> tuple[int, int, int, int]:
    """(n, degree, common neighbours of adjacent nodes, of other nodes); fails unless each is one number."""
    adjacency = np.zeros((graph.num_nodes, graph.num_nodes), dtype=np.int64)
    adjacency[graph.edges[:, 0], graph.edges[:, 1]] = 1
    adjacency += adjacency.T
    common = adjacency @ adjacency
    apart = (adjacency == 0) & ~np.eye(graph.num_nodes, dtype=np.bool_)
    values = [np.unique(part).tolist() for part in (graph.degrees, common[adjacency == 1], common[apart])]
    (degree,), (adjacent,), (others,) = values
    return graph.num_nodes, degree, adjacent, others


def nauty_certificate(graph: Graph) -> bytes:
    pynauty = pytest.importorskip("pynauty")
    adjacency = {v: list(near) for v, near in to_networkx(graph).adj.items()}
    certificate: bytes = pynauty.certificate(pynauty.Graph(graph.num_nodes, adjacency_dict=adjacency))
    return certificate


def test_named_graphs_are_strongly_regular() -> None:
    assert strongly_regular_parameters(rook(4)) == (16, 6, 2, 2)
    assert strongly_regular_parameters(shrikhande()) == (16, 6, 2, 2)
    assert nauty_certificate(rook(4)) != nauty_certificate(shrikhande())
    for q in (5, 13, 17, 29):
        assert strongly_regular_parameters(paley(q)) == (q, (q - 1) // 2, (q - 5) // 4, (q - 1) // 4)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 9])
def test_circulants_agree_with_networkx(n: int) -> None:
    for jumps in ([], [1], [1, 2], [2, n // 2], range(1, n // 2 + 1)):
        if all(1 <= jump <= n // 2 for jump in jumps):
            assert circulant(n, jumps) == from_networkx(nx.circulant_graph(n, list(jumps)))


def test_csl_classes_are_confused_by_wl_and_not_isomorphic() -> None:
    graphs = [csl(41, skip) for skip in (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)]
    assert all((graph.degrees == 4).all() and graph.num_edges == 82 for graph in graphs)
    assert len({nauty_certificate(graph) for graph in graphs}) == 10
    assert all(wl_equivalent(graphs[0], graph) for graph in graphs)


@pytest.mark.parametrize("base", BASES)
def test_cfi_pairs_are_confused_by_wl_and_not_isomorphic(base: Graph) -> None:
    plain, twisted = cfi_pair(base)
    assert plain.num_nodes == twisted.num_nodes == (2 ** (base.degrees - 1)).sum()
    assert wl_equivalent(plain, twisted)
    assert nauty_certificate(plain) != nauty_certificate(twisted)


@pytest.mark.parametrize("base", BASES)
def test_only_the_parity_of_twists_matters(base: Graph) -> None:
    plain, twisted = cfi_pair(base)
    last = base.num_edges - 1
    assert is_isomorphic(cfi(base, [0, last]), plain)
    assert is_isomorphic(cfi(base, [last]), twisted)
    assert is_isomorphic(cfi(base, [0, 1, last]), twisted)


def test_cfi_over_k4_is_the_rook_and_the_shrikhande_graph() -> None:
    plain, twisted = cfi_pair(K4)
    assert is_isomorphic(plain, shrikhande()) != is_isomorphic(plain, rook(4))
    assert is_isomorphic(twisted, shrikhande()) != is_isomorphic(twisted, rook(4))


def test_random_graph_has_exactly_m_edges() -> None:
    rng = np.random.default_rng(0)
    for n, m in [(1, 0), (5, 0), (5, 10), (30, 200), (1000, 3000)]:
        assert random_graph(n, m, rng).num_edges == m
    seen = {random_graph(4, 3, rng) for _ in range(500)}
    assert len(seen) == 20  # all choices of 3 of 6 pairs


def test_random_tree_is_a_tree_and_reaches_all() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 200):
        assert nx.is_tree(to_networkx(random_tree(n, rng)))
    draws = [random_tree(4, rng) for _ in range(1600)]
    counts = [draws.count(tree) for tree in set(draws)]
    assert len(counts) == 16  # Cayley: 4^2 labelled trees, 100 draws each expected
    assert 60 < min(counts) <= max(counts) < 140


@pytest.mark.parametrize(("n", "degree"), [(1, 0), (4, 3), (5, 2), (6, 5), (7, 4), (10, 3), (40, 20), (500, 3)])
def test_random_regular_is_simple_and_regular(n: int, degree: int) -> None:
    for seed in range(5):
        assert (random_regular(n, degree, np.random.default_rng(seed)).degrees == degree).all()


def test_random_regular_is_roughly_uniform() -> None:
    rng = np.random.default_rng(0)
    draws = [random_regular(6, 2, rng) for _ in range(1400)]
    counts = [draws.count(graph) for graph in set(draws)]
    assert len(counts) == 70  # 60 hexagons and 10 pairs of triangles, 20 draws each if uniform
    assert max(counts) < 60


def test_the_same_generator_state_gives_the_same_graph() -> None:
    def draw(seed: int) -> list[Graph]:
        rng = np.random.default_rng(seed)
        return [random_regular(20, 3, rng), random_tree(20, rng), random_graph(20, 30, rng)]

    assert draw(5) == draw(5)
    assert all(left != right for left, right in zip(draw(5), draw(6), strict=True))


def test_impossible_requests_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"jumps must each lie in 1..3 for 7 nodes, but they are \[4\]"):
        circulant(7, [4])
    with pytest.raises(ValueError, match=r"skip must be at least 2 and less than 20.5 for 41 nodes, but it is 1"):
        csl(41, 1)
    for q in (9, 7, 1):
        with pytest.raises(ValueError, match=f"q must be a prime .*, but it is {q}"):
            paley(q)
    with pytest.raises(ValueError, match=r"base must be connected .*, but it has 4 nodes and 2 edges"):
        cfi_pair(Graph.from_edges(4, [(0, 1), (2, 3)]))
    with pytest.raises(ValueError, match="have at least 1 edge, but it has 1 nodes and 0 edges"):
        cfi_pair(Graph.from_edges(1, []))
    with pytest.raises(ValueError, match="m is 7, but a graph with 4 nodes has between 0 and 6 edges"):
        random_graph(4, 7, rng)
    for n, degree in [(5, 3), (4, 4), (4, -1)]:
        with pytest.raises(ValueError, match=f"degree must lie in 0..{n - 1} for {n} nodes, .*, but it is {degree}"):
            random_regular(n, degree, rng)


@pytest.mark.parametrize(
    ("graph", "girth"),
    [
        (circulant(11, [1]), 11),
        (csl(41, 2), 3),
        (csl(41, 9), 4),
        (rook(4), 3),
        (shrikhande(), 3),
        (paley(5), 5),
        (circulant(6, [1, 3]), 4),  # the complete bipartite graph on 3 + 3 nodes
    ],
)
def test_girth(graph: Graph, girth: int) -> None:
    assert nx.girth(to_networkx(graph)) == girth
