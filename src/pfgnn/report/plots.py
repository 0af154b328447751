"""Plots of a table: a dot for each run beside the paper's number, heat maps over T and K, lines over K."""

import statistics
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from pfgnn.experiments.rows import Row
from pfgnn.experiments.tables import TABLES, find_table
from pfgnn.report.picture import save_picture
from pfgnn.report.published import PUBLISHED
from pfgnn.report.results import read_results, values


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
    cells = [row for row in TABLES[name].rows if row.grid]
    if len({row.grid[1] for row in cells if row.grid}) == 1:
        pictures.append(f"{name}-particles.png")
        _plot_lines(find_table(name).title, cells, panels, folder / pictures[-1])
        return pictures
    for grid in dict.fromkeys(row.grid[0] for row in cells if row.grid):
        rows = [row for row in cells if row.grid and row.grid[0] == grid]
        if any(row.title in dots for dots in panels.values() for row in rows):
            pictures.append(f"{name}-{grid.lower()}.png")
            _plot_grid(name, rows, panels, folder / pictures[-1])
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
        axes.spines[["top", "right"]].set_visible(False)
        if place == 0:
            handles, labels = axes.get_legend_handles_labels()
            named = dict(zip(labels, handles, strict=True))
            figure.legend(named.values(), named.keys(), frameon=False, loc="outside lower right", ncols=2)
    figure.suptitle(title)
    save_picture(figure, path)


def _plot_lines(title: str, rows: list[Row], panels: Panels, path: Path) -> None:
    """Draw a line for each grid: the mean of the runs by K, and a dot for each run. All rows have the same T."""
    column = rows[0].measures[0].column
    figure = Figure(figsize=(6, 4), layout="constrained")
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
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.suptitle(title)
    save_picture(figure, path)


def _plot_grid(name: str, rows: list[Row], panels: Panels, path: Path) -> None:
    """Draw the paper's grid beside ours (means of the runs), one row for each T and one column for each K.

    A cell that was not run is empty.
    """
    column = rows[0].measures[0].column
    steps, particles = (sorted({row.grid[axis] for row in rows if row.grid}) for axis in (1, 2))
    grids: dict[str, npt.NDArray[np.float64]] = {
        side: np.full((len(steps), len(particles)), np.nan) for side in ("paper", "ours")
    }
    for row in rows:
        assert row.grid is not None
        cell = steps.index(row.grid[1]), particles.index(row.grid[2])
        paper, dots = paper_number(name, row, column), panels[column].get(row.title)
        grids["paper"][cell] = np.nan if paper is None else paper
        grids["ours"][cell] = np.nan if dots is None else statistics.fmean(dots.ours)
    low, high = (reduce(np.stack(list(grids.values()))) for reduce in (np.nanmin, np.nanmax))
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for axes, (side, grid) in zip(figure.subplots(1, 2), grids.items(), strict=True):
        axes.imshow(grid, vmin=low, vmax=high, cmap="viridis", aspect="auto")
        axes.set(xticks=range(len(particles)), xticklabels=particles, xlabel="K", title=side)
        axes.set(yticks=range(len(steps)), yticklabels=steps, ylabel="T")
        for (down, across), number in np.ndenumerate(grid):
            if np.isfinite(number):
                dark = number < (low + high) / 2
                axes.text(across, down, f"{number:.0f}", ha="center", va="center", color="w" if dark else "k")
    assert rows[0].grid is not None
    figure.suptitle(f"{rows[0].grid[0]}, {column}, %")
    save_picture(figure, path)
