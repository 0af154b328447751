"""Pictures of colourings and of the search tree, with matplotlib."""

from typing import TYPE_CHECKING

import numpy as np

from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.graph import Graph
from pfgnn.report.layout import Points, place_nodes
from pfgnn.report.tree_nodes import Drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RADIUS = 0.36  # of a graph in the picture of a tree, where nodes are 1 apart
DISC, SMALLEST_DISC = 0.13, 0.022  # largest and smallest diameter of a vertex in it


def plot_colouring(graph: Graph, colours: IntArray, ax: "Axes") -> None:
    """Draw a graph with numbered and coloured nodes. A node with a colour of its own has a dark rim.

    Args:
        graph: The graph.
        colours: The colour of each node, [n]: start position of its cell in the ordered partition.
        ax: Axes to draw on.
    """
    points = place_nodes(graph)
    _plot_graph(graph, colours, points, 0.45 / np.sqrt(graph.num_nodes), ax)
    for node, (x, y) in enumerate(points):
        ax.text(x, y, str(node), ha="center", va="center_baseline", fontsize=8, zorder=4)
    ax.margins(0.1)
    ax.set_aspect("equal")
    ax.set_axis_off()


def plot_tree(graph: Graph, levels: list[list[Drawn]], ax: "Axes", gap: float = 1.8) -> None:
    """Draw nodes of a search tree from the root down. Each node is a small coloured copy of the graph.

    The number on a branch is the vertex that is individualised. Below a node stand its number of colours, how many
    children of its parent it stands for, and how many are not drawn. Leaves have a grey background.

    Args:
        graph: The graph.
        levels: The nodes, level by level from the root, see :func:`pfgnn.report.tree_nodes.choose_nodes`.
        ax: Axes to draw on; about one inch wide for each node of the widest level.
        gap: Distance between two levels, as a multiple of the width of a node. Wide trees get more.
    """
    from matplotlib.patches import FancyBboxPatch

    places = _places(levels, gap)
    points = place_nodes(graph)
    disc = float(np.clip(0.8 * RADIUS * _nearest(points), SMALLEST_DISC, DISC))
    for drawn in (drawn for level in levels for drawn in level):
        node = drawn.node
        x, y = places[node.path]
        if node.path:
            _plot_branch(places[node.path[:-1]], (x, y), node.path[-1], ax)
        if node.is_leaf:
            ax.add_patch(FancyBboxPatch((x - 0.36, y - 0.36), 0.72, 0.72, "round,pad=0.09", color="0.94", zorder=1))
        _plot_graph(graph, node.colours, RADIUS * points + np.array([x, y]), disc, ax)
        ground = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}  # hides the branches
        ax.text(x, y - 0.48, _caption(drawn), ha="center", va="top", fontsize=7, color="0.35", bbox=ground)
    ax.margins(0.03)
    ax.set_aspect("equal")
    ax.set_axis_off()


def _caption(drawn: Drawn) -> str:
    colours = len(np.unique(drawn.node.colours))
    lines = [f"{colours} colour{'s' if colours > 1 else ''}"]
    if drawn.alike > 1:
        lines.append(f"and {drawn.alike - 1} like it")
    if drawn.hidden:
        lines.append(f"{drawn.hidden} not drawn")
    return "\n".join(lines)


def _plot_graph(graph: Graph, colours: IntArray, points: Points, diameter: float, ax: "Axes") -> None:
    from matplotlib import colormaps
    from matplotlib.collections import EllipseCollection, LineCollection

    # The middle of a cell in the ordered partition selects its colour. Pale, so that black numbers can be read on it.
    sizes = np.bincount(colours, minlength=graph.num_nodes)[colours]
    fills = 0.35 + 0.65 * colormaps["turbo"]((colours + sizes / 2) / graph.num_nodes)
    rims = np.where(sizes == 1, "black", "0.65")
    across = np.full(graph.num_nodes, diameter)
    rim = 0.9 * min(1.0, diameter / DISC)  # small discs have thin rims, and many edges are thin lines
    width = 0.9 * min(1.0, max(0.3, 30 / max(1, graph.num_edges)))
    style = {"facecolors": fills, "edgecolors": rims, "linewidths": rim, "zorder": 3}
    discs = EllipseCollection(
        across, across, 0 * across, units="xy", offsets=points, offset_transform=ax.transData, **style
    )
    ax.add_collection(LineCollection(list(points[graph.edges]), colors="0.7", linewidths=width, zorder=2))
    ax.add_collection(discs)


def _plot_branch(above: tuple[float, float], below: tuple[float, float], vertex: int, ax: "Axes") -> None:
    start, end = np.add(above, (0, -0.5)), np.add(below, (0, 0.5))
    ax.plot(*np.stack([start, end], axis=1), color="0.8", linewidth=1, zorder=0)
    # Near the lower end, where the branches of one parent are far from each other.
    x, y = 0.3 * start + 0.7 * end
    ground = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
    ax.text(x, y, str(vertex), ha="center", va="center", fontsize=8, bbox=ground, zorder=1)


def _nearest(points: Points) -> float:
    """The distance from a point to its nearest neighbour that only one point in ten undercuts."""
    if len(points) == 1:
        return 2.0
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    return float(np.quantile(apart.min(axis=1), 0.1))


def _places(levels: list[list[Drawn]], gap: float) -> dict[tuple[int, ...], tuple[float, float]]:
    """The position of each node, by its path. Nodes without children stand side by side, parents above the middle."""
    columns: dict[tuple[int, ...], list[float]] = {}  # x of the children of each node
    places: dict[tuple[int, ...], tuple[float, float]] = {}
    paths = sorted((drawn.node.path for level in levels for drawn in level), reverse=True)
    gap = max(gap, 0.3 * max(map(len, levels)) / len(levels))  # wide trees need steeper branches
    next_column = 0.0
    # Longer paths come before their prefixes, and the columns fill from right to left.
    for path in paths:
        if path not in columns:
            next_column -= 1.0
        x = float(np.mean(columns.get(path, next_column)))
        places[path] = (x, -gap * len(path))
        columns.setdefault(path[:-1], []).append(x)
    return places
