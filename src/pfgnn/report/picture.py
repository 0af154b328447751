"""Writes pictures to files."""

from pathlib import Path

from matplotlib.figure import Figure

from pfgnn.errors import InputError
from pfgnn.files import write_atomically
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.tree import SearchTree
from pfgnn.report.tree import plot_tree

# A tree with more nodes in a level cannot be read in a picture, and takes long to draw.
WIDEST_LEVEL = 100


def plot_search_tree(graph: Graph, depth: int, path: Path) -> None:
    """Draw the search tree of a graph down to level ``depth`` into a picture file."""
    tree = SearchTree(graph)
    level, width = [tree.root], 1
    for number in range(1, depth + 1):  # count before each level is built: it may be far too wide
        children = sum(node.target.size for node in level)
        if children > WIDEST_LEVEL:
            raise InputError(
                f"depth must be less than {number} here: level {number} has {children} colourings, "
                f"but at most {WIDEST_LEVEL} can be drawn"
            )
        level = [child for node in level for child in tree.children(node)]
        width = max(width, len(level))
    figure = Figure(figsize=(max(4.0, 0.9 * width), 2.2 * (depth + 1)), layout="constrained")
    plot_tree(tree, depth, figure.subplots())
    save_picture(figure, path)


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure to a temporary file, then rename it to ``path``. The ending decides the format."""
    known = figure.canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in known:
        raise InputError(f"{path} must end in one of {', '.join(f'.{ending}' for ending in known)} to be a picture")
    write_atomically(path, lambda temporary: figure.savefig(temporary, dpi=150, bbox_inches="tight"))
