"""Plots of a table: a dot for each run beside the paper's number, heat maps over T and K, lines over K."""

import statistics
import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from pfgnn.experiments.rows import Row
from pfgnn.experiments.tables import TABLES, find_table
from pfgnn.report.grids import gather_grids
from pfgnn.report.heat_maps import draw_heat_maps
from pfgnn.report.picture import save_picture
from pfgnn.report.published import PUBLISHED
from pfgnn.report.results import read_results, values

LETTERS_PER_INCH = 10  # of a title, in its size of font


class Dots(NamedTuple):
    """The numbers of a row in one column.

    Fields:
        ours: The number of each run.
        paper: The paper's number; None if it has none.
    """

    ours: list[float]
    paper: float | None


Panels = dict[str, dict[str, Dots]]  # column → title of the row → its dots


def plot_table(results: Path, name: str, folder: Path) -> list[str]:
    """Draw the runs of a table, and return the names of the pictures.

    Args:
        results: Folder of the records.
        name: Name of the table.
        folder: Folder to write the pictures to.
    """
    panels = gather_panels(results, name)
    if not panels:
        return []
    pictures = [f"{name}.png"]
    _plot_dots(panels, find_table(name).title, folder / pictures[0])
    if lines := draw_lines(results, name):
        pictures.append(f"{name}-particles.png")
        save_picture(lines, folder / pictures[-1])
        return pictures
    for grid in gather_grids(results, name):
        if np.isfinite(grid.ours).any():
            pictures.append(f"{grid.name}.png")
            save_picture(draw_heat_maps(grid), folder / pictures[-1])
    return pictures


def gather_panels(results: Path, name: str) -> Panels:
    """The dots of each column. Columns with the median, maximum, minimum or deviation are left out.

    They are computed from the same runs as the mean.
    """
    found, panels = read_results(results, name), Panels()
    for row in TABLES[name].rows:
        for measure in row.measures:
            ours = values(found[row.name], measure) if row.name in found else []
            if ours and measure.statistic in ("mean", "total"):
                panels.setdefault(measure.column, {})[row.title] = Dots(ours, paper_number(name, row, measure.column))
    return panels


def paper_number(name: str, row: Row, column: str) -> float | None:
    """The paper's number for a row and column, without its standard deviation; None if it has none."""
    cells = {published.title: published.cells for published in PUBLISHED.get(name, ())}
    printed = cells.get(row.title, {}).get(column)
    return None if printed is None else float(printed.split()[0])


def _plot_dots(panels: Panels, title: str, path: Path) -> None:
    """Draw a panel for each column, with the rows below each other."""
    rows = list(dict.fromkeys(row for dots in panels.values() for row in dots))
    size = (3 + 2.4 * len(panels), 1.2 + 0.3 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    for place, (axes, (column, dots)) in enumerate(
        zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels.items(), strict=True)
    ):
        for row, (ours, paper) in dots.items():
            height = rows.index(row)
            axes.scatter(ours, [height] * len(ours), s=22, color="C0", alpha=0.5, label="a run of ours", zorder=2)
            if paper is not None:
                axes.scatter([paper], [height], s=70, marker="|", color="C3", label="paper", zorder=3)
        numbers = {number for ours, paper in dots.values() for number in (*ours, paper) if number is not None}
        if len(numbers) == 1:  # otherwise matplotlib would choose a tiny range around the number
            (number,) = numbers
            axes.set_xlim(number - (abs(number) / 10 or 1), number + (abs(number) / 10 or 1))
        axes.set(yticks=range(len(rows)), yticklabels=rows, ylim=(len(rows) - 0.5, -0.5), title=column)
        axes.title.set_fontsize("medium")
        axes.grid(axis="x", color="0.9")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if place == 0:
            handles, labels = axes.get_legend_handles_labels()
            named = dict(zip(labels, handles, strict=True))
            figure.legend(named.values(), named.keys(), frameon=False, loc="outside lower right", ncols=2)
    # Wrapped, because a longer title would make the whole picture wider.
    figure.suptitle(textwrap.fill(title, int(LETTERS_PER_INCH * size[0])))
    save_picture(figure, path)


def draw_lines(results: Path, name: str) -> Figure | None:
    """Draw a line for each grid: the mean of the runs by K, and a dot for each run.

    None if the rows have no grid, or several T.

    Args:
        results: Folder of the records.
        name: Name of the table.
    """
    rows = [row for row in find_table(name).rows if row.grid]
    panels = gather_panels(results, name)
    if not panels or len({row.grid[1] for row in rows if row.grid}) != 1:
        return None
    column = rows[0].measures[0].column
    figure = Figure(figsize=(4.6, 3.6), layout="constrained")
    axes = figure.subplots()
    for place, grid in enumerate(dict.fromkeys(row.grid[0] for row in rows if row.grid)):
        points = [
            (row.grid[2], panels[column][row.title].ours)
            for row in rows
            if row.grid and row.grid[0] == grid and row.title in panels[column]
        ]
        if points:
            axes.plot(
                *zip(*((K, statistics.fmean(ours)) for K, ours in points), strict=True), color=f"C{place}", label=grid
            )
            for K, ours in points:
                axes.scatter([K] * len(ours), ours, s=18, color=f"C{place}", alpha=0.6)
    particles = sorted({row.grid[2] for row in rows if row.grid})
    axes.set_xscale("log", base=2)
    axes.set(xticks=particles, xticklabels=particles, xlabel="particles K", ylabel=column)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)  # else the grid covers the dots
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
