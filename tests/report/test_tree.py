from io import BytesIO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pfgnn.graphs import Graph, SearchTree, circulant, random_regular
from pfgnn.graphs.strongly_regular import sr25
from pfgnn.report.tree import plot_colouring, plot_tree
from pfgnn.report.tree_nodes import MOST_LEVELS, choose_nodes


def _rendered_texts(ax: Axes, figure: Figure) -> list[str]:
    figure.savefig(BytesIO(), format="png")
    return [text.get_text() for text in ax.texts]


def test_draw_colouring_numbers_every_node() -> None:
    for graph in (circulant(6, [1]), Graph.from_edges(5, [(0, 1), (1, 2), (1, 3)]), Graph.from_edges(1, [])):
        figure = Figure()
        ax = figure.add_subplot()
        plot_colouring(graph, SearchTree(graph).root.colours, ax)
        assert _rendered_texts(ax, figure) == [str(v) for v in range(graph.num_nodes)]


def test_draw_tree_names_the_vertex_of_every_branch() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    tree = SearchTree(circulant(5, [1]))
    plot_tree(tree.graph, choose_nodes(tree, 2, 100), ax)
    texts = _rendered_texts(ax, figure)
    expected = [str(node.path[-1]) for node in tree.walk(max_depth=2) if node.path]
    assert sorted(text for text in texts if "colour" not in text) == sorted(expected)
    assert sorted(text for text in texts if "colour" in text) == ["1 colour", *["3 colours"] * 5, *["5 colours"] * 10]


def test_a_wide_level_shows_one_node_of_each_kind() -> None:
    tree = SearchTree(sr25()[3])
    root, first, second = choose_nodes(tree, 2, 17)
    assert [len(level) for level in (root, first, second)] == [1, 1, 12]
    assert (first[0].alike, first[0].hidden) == (25, 0)
    assert {drawn.node.is_leaf for drawn in second} == {True}
    figure = Figure()
    plot_tree(tree.graph, [root, first], ax := figure.add_subplot())
    assert "3 colours\nand 24 like it" in _rendered_texts(ax, figure)


def test_what_is_not_drawn_is_counted() -> None:
    tree = SearchTree(random_regular(60, 3, np.random.default_rng(0)))
    _, level = choose_nodes(tree, 5, 4)
    assert len(level) == 4
    assert sum(drawn.alike + drawn.hidden for drawn in level) == 60


def test_levels_end_with_the_leaves_or_at_the_bound() -> None:
    assert len(choose_nodes(SearchTree(circulant(6, [1])), 10**9, 100)) == 3
    assert len(choose_nodes(SearchTree(Graph.from_edges(500, [])), 10**9, 100)) == MOST_LEVELS + 1
