"""Pictures as files."""

from pathlib import Path

from matplotlib.figure import Figure

from pfgnn.experiments.record import write_atomically
from pfgnn.graphs.draw import draw_tree
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.tree import SearchTree

# Beyond this many nodes in a level a picture of the tree is neither legible nor quick.
WIDEST_LEVEL = 100


def draw_search_tree(graph: Graph, depth: int, path: Path) -> None:
    """Draw a graph's search tree down to ``depth`` into a picture file."""
    tree = SearchTree(graph)
    width = max(map(len, tree.levels(depth)))
    if width > WIDEST_LEVEL:
        raise ValueError(f"depth {depth} has a level of {width} colourings, but at most {WIDEST_LEVEL} can be drawn")
    figure = Figure(figsize=(max(4.0, 0.9 * width), 2.2 * (depth + 1)), layout="constrained")
    draw_tree(tree, depth, figure.subplots())
    save_picture(figure, path)


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; the ending says the format."""
    known = figure.canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in known:
        raise ValueError(f"{path} must end in one of {', '.join(f'.{ending}' for ending in known)} to be a picture")
    write_atomically(path, lambda temporary: figure.savefig(temporary, dpi=150, bbox_inches="tight"))
