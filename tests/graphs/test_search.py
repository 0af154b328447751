import time
from collections.abc import Callable
from itertools import combinations
from math import factorial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from tests.graphs.test_refinement import labelled_graphs

from pfgnn.graphs import (
    Graph,
    SearchResult,
    cfi_pair,
    circulant,
    csl,
    disjoint_union,
    from_networkx,
    random_regular,
    refine,
    search,
)
from pfgnn.graphs.search import without_complete_blocks
from pfgnn.graphs.tree_search import explore

Edges = tuple[tuple[int, int], ...]
PENTAGON, TRIANGLE = circulant(5, [1]), circulant(3, [1])
FRUCHT = from_networkx(nx.frucht_graph())  # cubic, and only the identity maps it to itself


def complete(n: int, without: Edges = ()) -> Graph:
    return Graph.from_edges(n, sorted(set(combinations(range(n), 2)) - set(without)))


def star(leaves: int, extra: Edges = ()) -> Graph:
    return Graph.from_edges(leaves + 1, [(0, leaf) for leaf in range(1, leaves + 1)] + list(extra))


def spider(legs: list[int]) -> Graph:
    """Paths of the given lengths that meet in one vertex."""
    graph = nx.Graph()
    for leg, length in enumerate(legs):
        nx.add_path(graph, ["body", *((leg, joint) for joint in range(length))])
    return from_networkx(nx.convert_node_labels_to_integers(graph))


def blown_up(graph: Graph, copies: int) -> Graph:
    """Each vertex becomes several twins, which are not joined."""
    pairs = np.argwhere(np.ones((copies, copies)))
    return Graph(graph.num_nodes * copies, (graph.edges[:, None] * copies + pairs).reshape(-1, 2))


def multipartite(parts: list[int]) -> Graph:
    return from_networkx(nx.complete_multipartite_graph(*parts))


def form(graph: Graph) -> Graph:
    return graph.relabel(search(graph).labelling)


# Graphs with many symmetries that are plain to see, and the number of their symmetries.
EASY: dict[str, Callable[[], tuple[Graph, int]]] = {
    "complete": lambda: (complete(200), factorial(200)),
    "empty": lambda: (Graph.from_edges(500, []), factorial(500)),
    "star": lambda: (star(500), factorial(500)),
    "triangles": lambda: (disjoint_union(*[TRIANGLE] * 100), 6**100 * factorial(100)),
    "pentagons": lambda: (disjoint_union(*[PENTAGON] * 60), 10**60 * factorial(60)),
    "multipartite": lambda: (multipartite([3] * 60), 6**60 * factorial(60)),
    "spider": lambda: (spider([2] * 100), factorial(100)),
    "tree": lambda: (from_networkx(nx.balanced_tree(5, 3)), factorial(5) ** 31),
    "twins in a cubic graph": lambda: (blown_up(FRUCHT, 20), factorial(20) ** 12),
    "twins on a cubic graph": lambda: (
        Graph.from_edges(36, np.vstack([FRUCHT.edges, [(v % 12, v) for v in range(12, 36)]])),
        2**12,
    ),
}
# Two graphs like those each, which are not isomorphic: same numbers of vertices and edges.
APART: dict[str, Callable[[], tuple[Graph, Graph]]] = {
    "complete": lambda: (complete(200, ((0, 1), (2, 3))), complete(200, ((0, 1), (1, 2)))),
    "empty": lambda: (Graph.from_edges(500, [(0, 1), (2, 3)]), Graph.from_edges(500, [(0, 1), (1, 2)])),
    "star": lambda: (star(500, ((1, 2), (3, 4))), star(500, ((1, 2), (2, 3)))),
    "triangles": lambda: (disjoint_union(*[TRIANGLE] * 100), disjoint_union(*[TRIANGLE] * 98, circulant(6, [1]))),
    "pentagons": lambda: (disjoint_union(*[PENTAGON] * 60), disjoint_union(*[PENTAGON] * 58, circulant(10, [1]))),
    "multipartite": lambda: (multipartite([3] * 50 + [1, 4, 4]), multipartite([3] * 50 + [2, 2, 5])),
    "spider": lambda: (spider([2] * 100), spider([2] * 98 + [1, 3])),
    "twins in a cubic graph": lambda: (
        blown_up(FRUCHT, 20),
        blown_up(from_networkx(nx.truncated_tetrahedron_graph()), 20),
    ),
}


@pytest.mark.parametrize("name", EASY)
def test_twins_and_equal_pieces_do_not_stall_the_search(name: str) -> None:
    graph, group_order = EASY[name]()
    copy = graph.relabel(np.random.default_rng(0).permutation(graph.num_nodes))
    start = time.process_time()
    found, again = search(graph), search(copy)
    assert time.process_time() - start < 4  # for both
    assert copy.relabel(again.labelling) == graph.relabel(found.labelling)
    assert found.group_order == again.group_order == group_order
    assert all(graph.relabel(generator) == graph for generator in found.generators)


@pytest.mark.parametrize("name", APART)
def test_graphs_that_look_like_them_are_told_apart(name: str) -> None:
    left, right = APART[name]()
    assert (left.num_nodes, left.num_edges) == (right.num_nodes, right.num_edges)
    assert form(left) != form(right)


def group_size(generators: list[tuple[int, ...]], num_nodes: int) -> int:
    """Number of permutations that the generators generate, by listing them all."""
    known = {tuple(range(num_nodes))}
    new = list(known)
    while new:
        new = list({tuple(g[v] for v in p) for p in new for g in generators} - known)
        known.update(new)
    return len(known)


@settings(deadline=None, max_examples=200)
@given(labelled_graphs())
def test_the_rules_change_no_group(graph: Graph) -> None:
    found, plain = search(graph), explore(graph)
    copy = graph.relabel(np.random.default_rng(1).permutation(graph.num_nodes))
    assert form(copy) == form(graph)
    assert found.group_order == plain.group_order
    assert np.array_equal(found.orbits, plain.orbits)
    if found.group_order <= 5000:
        generators = [tuple(generator.tolist()) for generator in found.generators]
        assert group_size(generators, graph.num_nodes) == found.group_order


def test_edges_that_the_colours_imply_are_left_out() -> None:
    graph = star(4, ((1, 2), (3, 4)))  # the hub is joined to all others, which form two pairs
    bare = without_complete_blocks(graph, refine(graph))
    assert bare.edges.tolist() == [[1, 2], [3, 4]]
    labelled = Graph(5, graph.edges, None, np.array([[0], [0], [0], [1], [0], [0]]))  # the edge to vertex 4 is special
    assert without_complete_blocks(labelled, refine(labelled)).num_edges == 0


def test_pruning_keeps_the_search_small() -> None:
    petersen = from_networkx(nx.petersen_graph())
    assert search(Graph.from_edges(12, [])).nodes_visited == 0
    assert explore(Graph.from_edges(12, [])).nodes_visited < 100
    assert search(csl(41, 9)).nodes_visited < 20
    assert search(cfi_pair(petersen)[1]).nodes_visited < 200


def test_the_given_solver_gets_connected_graphs_without_twins() -> None:
    seen = []

    def solve(graph: Graph) -> SearchResult:
        seen.append(graph.num_nodes)
        return explore(graph)

    rng = np.random.default_rng(2)
    cubic = random_regular(14, 3, rng)
    search(disjoint_union(blown_up(cubic, 3), cubic, TRIANGLE, Graph.from_edges(2, [])), solve)
    assert seen == [14, 14]
