"""The picture of docs/method.md: one step of PF-GNN on a small graph.

python docs/draw_method.py writes docs/method.png.
"""

import itertools
from pathlib import Path

import networkx as nx
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pfgnn.report.picture import save_picture

# A ring of six with a tail of two.
EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 6), (6, 7)]
PLACES = {0: (1.0, 0.0), 1: (0.5, 0.87), 2: (-0.5, 0.87), 3: (-1.0, 0.0), 4: (-0.5, -0.87), 5: (0.5, -0.87)}
PLACES |= {6: (1.9, 0.0), 7: (2.8, 0.0)}
MARKS = (1, 3, 7)
COLOURS = ("#c0392b", "#e67e22", "#d4ac0d", "#7fb069", "#3c7a89", "#34495e")


def draw_graph(axes: Axes, graph: nx.Graph, x: float, y: float, mark: int | None) -> None:
    """Draw the graph around (x, y), its vertices coloured and numbered by their distance to the mark."""
    distance = {} if mark is None else nx.single_source_shortest_path_length(graph, mark)
    place = {v: (x + 0.32 * a, y + 0.32 * b) for v, (a, b) in PLACES.items()}
    for u, v in graph.edges:
        axes.plot(*zip(place[u], place[v], strict=True), color="0.55", lw=1.2, zorder=1)
    for v, (a, b) in place.items():
        colour = "0.8" if mark is None else COLOURS[distance[v]]
        axes.scatter([a], [b], s=150, color=colour, edgecolor="black" if v == mark else "none", lw=2, zorder=2)
        if mark is not None:
            axes.text(a, b - 0.008, str(distance[v]), ha="center", va="center", fontsize=8, color="white", zorder=3)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """An arrow between two points."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "0.3", "lw": 1.3})


def box(axes: Axes, x: float, y: float, text: str) -> None:
    """A text in a box around (x, y)."""
    style = {"boxstyle": "round,pad=0.5", "facecolor": "#eef3f7", "edgecolor": "0.5"}
    axes.text(x, y, text, ha="center", va="center", fontsize=10, bbox=style)


def main() -> None:
    """Draw and write."""
    graph = nx.Graph(EDGES)
    figure = Figure(figsize=(12.5, 4.9), layout="constrained")
    axes = figure.subplots()
    heights = (1.15, 0.0, -1.15)
    draw_graph(axes, graph, 0.0, 0.0, None)
    for number, (y, mark) in enumerate(zip(heights, MARKS, strict=True), start=1):
        arrow(axes, (1.15, 0.12 * y), (2.35, y))
        draw_graph(axes, graph, 2.9, y, mark)
        axes.text(2.2, y + 0.42, f"particle {number}", fontsize=9, color="0.3")
        arrow(axes, (4.0, y), (4.55, y))
        box(axes, 5.1, y, "GNN layers")
        arrow(axes, (5.65, y), (6.2, y))
        box(axes, 6.75, y, "sum, MLP")
        arrow(axes, (7.3, y), (8.0, 0.12 * y))
    for high, low in itertools.pairwise(heights):
        axes.annotate(
            "", (5.1, low + 0.22), (5.1, high - 0.22), arrowprops={"arrowstyle": "<|-|>", "color": "0.3", "ls": "--"}
        )
    axes.text(5.2, 0.575, "exchange,\non request", fontsize=9, color="0.3", va="center")
    box(axes, 8.35, 0.0, "weighted\nmean")
    arrow(axes, (8.75, 0.0), (9.2, 0.0))
    box(axes, 9.75, 0.0, "prediction")
    titles = {
        0.3: "the graph",
        2.9: "1. draw K distinct vertices\n2. mark by distance",
        5.1: "3. refine",
        6.75: "4. read",
    }
    for x, title in titles.items():
        axes.text(x, 2.05, title, ha="center", va="center", fontsize=11, weight="bold")
    axes.set(xlim=(-0.5, 10.3), ylim=(-1.65, 2.3), aspect="equal")
    axes.axis("off")
    save_picture(figure, Path(__file__).with_name("method.png"))


if __name__ == "__main__":
    main()
