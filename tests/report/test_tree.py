from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pfgnn.graphs import Graph, SearchTree, circulant
from pfgnn.report.tree import plot_colouring, plot_tree


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
    plot_tree(tree, 2, ax)
    expected = [str(node.path[-1]) for node in tree.walk(max_depth=2) if node.path]
    assert sorted(_rendered_texts(ax, figure)) == sorted(expected)
