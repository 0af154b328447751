from math import factorial

import numpy as np
import pytest

from pfgnn.graphs import (
    Graph,
    SearchTree,
    circulant,
    disjoint_union,
    first_cell,
    individualise,
    is_equitable,
    largest_cell,
    random_regular,
    refine,
    smallest_cell,
)
from pfgnn.graphs.tree import TargetCell

COLOURS = np.array([5, 0, 0, 2, 2, 5, 5, 2, 8])  # cells {1,2}, {3,4,7}, {0,5,6}, {8}


@pytest.mark.parametrize(
    ("select", "expected"), [(first_cell, [1, 2]), (smallest_cell, [1, 2]), (largest_cell, [3, 4, 7])]
)
def test_target_cells(select: TargetCell, expected: list[int]) -> None:
    assert select(COLOURS).tolist() == expected
    assert select(np.array([2, 0, 1])).size == 0


def test_the_first_cell_is_not_always_the_smallest() -> None:
    colours = np.array([0, 0, 0, 3, 3])
    assert first_cell(colours).tolist() == [0, 1, 2]
    assert smallest_cell(colours).tolist() == [3, 4]


def test_individualise_puts_the_vertex_before_its_cell() -> None:
    assert individualise(np.array([0, 2, 2, 2, 0]), np.array([3, 4])).tolist() == [[0, 3, 3, 2, 0], [1, 2, 2, 2, 0]]


@pytest.mark.parametrize("select", [first_cell, smallest_cell, largest_cell])
def test_every_node_is_equitable_and_finer_than_its_parent(select: TargetCell) -> None:
    graph = random_regular(8, 3, np.random.default_rng(3))
    tree = SearchTree(graph, select)
    nodes = {node.path: node for node in tree.walk()}
    for path, node in nodes.items():
        assert is_equitable(graph, node.colours)
        assert node.is_leaf == (np.sort(node.colours).tolist() == list(range(8)))
        if path:
            parent = nodes[path[:-1]]
            assert path[-1] in parent.target
            assert np.array_equal(node.colours, refine(graph, individualise(parent.colours, np.array(path[-1:]))[0]))
            assert (node.colours[:, None] < node.colours)[parent.colours[:, None] < parent.colours].all()


def test_the_tree_of_isolated_nodes_has_all_permutations_as_leaves() -> None:
    tree = SearchTree(Graph.from_edges(4, []))
    leaves = list(tree.leaves())
    assert len({leaf.colours.tobytes() for leaf in leaves}) == len(leaves) == factorial(4)
    assert [len(level) for level in tree.levels(4)] == [1, 4, 12, 24, 0]


def test_relabelled_graphs_have_relabelled_trees() -> None:
    rng = np.random.default_rng(0)
    graph = disjoint_union(circulant(5, [1]), circulant(4, [1]))
    permutation = rng.permutation(9)
    moved = SearchTree(graph.relabel(permutation))
    theirs = {node.path: node.colours[permutation].tolist() for node in moved.walk(max_depth=2)}
    ours = {
        tuple(permutation[list(node.path)].tolist()): node.colours.tolist()
        for node in SearchTree(graph).walk(max_depth=2)
    }
    assert ours == theirs


def test_walk_goes_level_by_level() -> None:
    depths = [len(node.path) for node in SearchTree(circulant(6, [1])).walk()]
    assert depths == sorted(depths)
    assert len(depths) == 1 + 6 + 12
    assert len(list(SearchTree(circulant(6, [1])).walk(max_depth=1))) == 7


def test_to_text_shows_vertices_and_cells() -> None:
    tree = SearchTree(Graph.from_edges(3, [(0, 1), (1, 2)]))
    assert tree.to_text() == "0 2 | 1\n  0: 0 | 2 | 1\n  2: 2 | 0 | 1"
    assert tree.to_text(max_depth=0) == "0 2 | 1"


def test_nodes_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        SearchTree(circulant(4, [1])).root.colours[0] = 3
