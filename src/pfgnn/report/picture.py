"""Writes pictures to files."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pfgnn.errors import InputError
from pfgnn.files import write_atomically
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.tree import SearchTree
from pfgnn.report.tree import plot_tree
from pfgnn.report.tree_nodes import choose_nodes

MOST_VERTICES = 1000  # of a graph whose tree is drawn
WIDEST = 30  # inches


def plot_search_tree(graph: Graph, depth: int, path: Path) -> int:
    """Draw the search tree of a graph down to level ``depth`` into a picture file.

    Where a level would be too wide, only nodes that look different are drawn.

    Returns:
        The last level that was drawn. It is less than ``depth`` if the tree ends before, or is very deep.
    """
    if graph.num_nodes > MOST_VERTICES:
        raise InputError(
            f"a search tree can be drawn for at most {MOST_VERTICES} vertices, but the graph has {graph.num_nodes}"
        )
    inch = float(np.clip(0.3 * graph.num_nodes**0.5, 0.9, 4.0))  # width of a node of the tree
    levels = choose_nodes(SearchTree(graph), depth, int(WIDEST / inch))
    width, gap = max(map(len, levels)), 1.05 + 0.7 / inch
    figure = Figure(figsize=(max(4.0, inch * width), (gap + 0.4) * inch * len(levels)), layout="constrained")
    plot_tree(graph, levels, figure.subplots(), gap)
    save_picture(figure, path)
    return len(levels) - 1


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure to a temporary file, then rename it to ``path``. The ending decides the format."""
    known = figure.canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in known:
        raise InputError(f"{path} must end in one of {', '.join(f'.{ending}' for ending in known)} to be a picture")
    write_atomically(path, lambda temporary: figure.savefig(temporary, dpi=150, bbox_inches="tight"))
