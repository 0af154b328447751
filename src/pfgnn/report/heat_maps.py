"""Heat maps of grids, and bars of BREC's categories."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pfgnn.report.brec import PairTable, category_title
from pfgnn.report.grids import Grid, Numbers
from pfgnn.report.run_facts import NONE
from pfgnn.report.tables import NOT_RUN

COLOURS = colormaps["viridis"]
WIDTH, LETTERS = 4.4, 9  # inches and points; so the letters can be read on a phone


def draw_heat_map(grid: Grid, published: bool) -> Figure:
    """Draw the published numbers of a grid or ours, by K. Both have the same colours.

    Args:
        grid: The grid.
        published: Whether to draw the published numbers.
    """
    figure = Figure(figsize=(WIDTH, 1.1 + 0.42 * len(grid.lines)), layout="constrained")
    _draw(figure.subplots(), grid, published)
    return figure


def draw_heat_maps(grid: Grid) -> Figure:
    """Draw the published numbers of a grid beside ours."""
    figure = Figure(figsize=(2 * WIDTH, 1.4 + 0.42 * len(grid.lines)), layout="constrained")
    for axes, published in zip(figure.subplots(1, 2), (True, False), strict=True):
        _draw(axes, grid, published)
        axes.set_title("published" if published else "ours")
    figure.suptitle(grid.title)
    return figure


def draw_brec(table: PairTable) -> Figure:
    """Draw a bar for each category of BREC: the share of its pairs that are told apart, by the T that is needed."""
    figure = Figure(figsize=(WIDTH, 1.5 + 0.36 * len(table.lines)), layout="constrained")
    axes = figure.subplots()
    shades = COLOURS(np.linspace(0.15, 0.85, table.steps + 1))
    for height, line in enumerate(table.lines):
        before = 0.0
        for T, reached in enumerate(line.by_steps, table.first):
            share = 100 * reached / max(1, line.compared)
            axes.barh(height, share - before, left=before, color=shades[T], height=0.7)
            before = share
        said = f"{line.by_steps[-1]} of {line.compared}" if line.compared else NOT_RUN
        axes.text(before + 1.5, height, said, va="center", fontsize=LETTERS)
    for T in range(table.first, table.steps + 1):
        axes.barh(0, 0, color=shades[T], label=f"T = {T}")
    axes.set(yticks=range(len(table.lines)), yticklabels=[category_title(line.category) for line in table.lines])
    axes.set(xlim=(0, 135), xticks=range(0, 101, 25), ylim=(len(table.lines) - 0.5, -0.5), xlabel="told apart, %")
    axes.spines[["top", "right"]].set_visible(False)
    layout = {"ncols": 5, "handlelength": 1.4, "columnspacing": 1.2, "frameon": False, "fontsize": LETTERS}
    figure.legend(loc="outside lower center", title="marks that are needed", **layout)
    return figure


def _draw(axes: Axes, grid: Grid, published: bool) -> None:
    numbers = grid.paper if published else grid.ours
    low, high = _limits(grid)
    cells = np.ma.masked_invalid(numbers)
    axes.pcolormesh(cells, vmin=low, vmax=high, cmap=COLOURS, edgecolors="white", linewidth=1.5)
    axes.set(xticks=np.arange(len(grid.particles)) + 0.5, xticklabels=grid.particles, xlabel="particles K")
    axes.set(yticks=np.arange(len(grid.lines)) + 0.5, yticklabels=grid.lines)
    axes.set_ylabel("steps T" if grid.side == "T" else "")
    axes.set(xlim=(0, len(grid.particles)), ylim=(len(grid.lines), 0))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if not np.isfinite(numbers).any():
        axes.set_facecolor("0.94")
        axes.text(0.5, 0.5, NOT_RUN, transform=axes.transAxes, ha="center", va="center")
        return
    for (down, across), number in np.ndenumerate(numbers):
        known = np.isfinite(number)
        text = (f"{number:g}" if published else grid.texts[down][across].partition(" ")[0]) if known else NONE
        dark = known and number < (low + high) / 2
        axes.text(
            across + 0.5, down + 0.5, text, ha="center", va="center", fontsize=LETTERS, color="w" if dark else "k"
        )


def _limits(grid: Grid) -> tuple[float, float]:
    """The smallest and the largest number, published or ours; 0 and 1 if there is none."""
    both: Numbers = np.stack([grid.paper, grid.ours])
    return (float(np.nanmin(both)), float(np.nanmax(both))) if np.isfinite(both).any() else (0.0, 1.0)
