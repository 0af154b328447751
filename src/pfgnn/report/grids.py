"""The grids of a table: one number for each K and each T, or for each K and each policy."""

import statistics
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfgnn.experiments.rows import Row
from pfgnn.experiments.tables import find_table
from pfgnn.report.published import PUBLISHED
from pfgnn.report.results import read_results, summary, values
from pfgnn.report.tables import NOT_RUN

Numbers = npt.NDArray[np.float64]


class Grid(NamedTuple):
    """The published numbers and ours. NaN stands for a number that is not there.

    Fields:
        name: Name for files and links.
        title: What it shows.
        side: What the lines are, such as "T".
        lines: Title of each line.
        particles: K of each column.
        paper: The published numbers, [lines, particles].
        ours: The mean of our runs, [lines, particles].
        texts: Our numbers as text, or that they were not run.
    """

    name: str
    title: str
    side: str
    lines: tuple[str, ...]
    particles: tuple[int, ...]
    paper: Numbers
    ours: Numbers
    texts: tuple[tuple[str, ...], ...]


def gather_grids(results: Path, name: str) -> list[Grid]:
    """The grids of a table: a line for each T, or for each policy if all rows have the same T.

    Args:
        results: Folder of the records.
        name: Name of the table.
    """
    cells = [row for row in find_table(name).rows if row.grid]
    if len({row.grid[1] for row in cells if row.grid}) == 1:
        return [_grid(results, name, name, cells[0].measures[0].column, "policy", 0, cells)]
    titles = dict.fromkeys(row.grid[0] for row in cells if row.grid)
    of_title = {title: [row for row in cells if row.grid and row.grid[0] == title] for title in titles}
    return [_grid(results, name, f"{name}-{title.lower()}", title, "T", 1, rows) for title, rows in of_title.items()]


def _grid(results: Path, table: str, name: str, title: str, side: str, axis: int, rows: list[Row]) -> Grid:
    """One grid of some rows. ``axis`` is the field of ``Row.grid`` that makes a line."""
    places = [row.grid for row in rows if row.grid]
    lines, particles = (tuple(dict.fromkeys(place[field] for place in places)) for field in (axis, 2))
    paper, ours = np.full((2, len(lines), len(particles)), np.nan)
    texts = [[NOT_RUN] * len(particles) for _ in lines]
    found, published = read_results(results, table), {row.title: row.cells for row in PUBLISHED.get(table, ())}
    for row, place in zip(rows, places, strict=True):
        down, across = lines.index(place[axis]), particles.index(place[2])
        measure = row.measures[0]
        if printed := published.get(row.title, {}).get(measure.column):
            paper[down, across] = float(printed.split()[0])
        if row.name in found:
            ours[down, across] = statistics.fmean(values(found[row.name], measure) or [np.nan])
            texts[down][across] = summary(found[row.name], measure)
    return Grid(
        name, title, side, tuple(map(str, lines)), tuple(map(int, particles)), paper, ours, tuple(map(tuple, texts))
    )
