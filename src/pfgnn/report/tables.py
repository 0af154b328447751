"""A table with the paper's numbers and ours: one line for each row and column."""

from pathlib import Path
from typing import Any, NamedTuple

from pfgnn.experiments.rows import Measure, Row
from pfgnn.experiments.tables import TABLES
from pfgnn.report.published import PUBLISHED, PublishedRow
from pfgnn.report.results import Runs, figures, read_results, summary

HEADER = ("row", "column", "paper", "measured", "runs")
NOT_RUN = "not run yet"


class Line(NamedTuple):
    """The paper's number and ours, all as text.

    Fields:
        row: Title of the row.
        column: Name of the column.
        paper: The paper's number; if the paper quotes it, with the source.
        measured: Our number.
        runs: How many of the runs are done, such as "3 of 10".
    """

    row: str
    column: str
    paper: str
    measured: str
    runs: str


class Entry(NamedTuple):
    """What a line of a table is made from.

    Fields:
        column: Name of the column.
        paper: The paper's row; without cells if the paper has none.
        measure: What we measure; None for a column that only the paper has.
        runs: Our runs of the row; None if there are none.
        row: Our row; None if it is the paper's only.
    """

    column: str
    paper: PublishedRow
    measure: Measure | None = None
    runs: Runs | None = None
    row: Row | None = None

    def number(self) -> str:
        """The published number; a dash if there is none."""
        return self.paper.cells.get(self.column, "-")

    def published(self) -> str:
        """The published number, with its source if it is not the paper's own; a dash if there is none."""
        number = self.number()
        return f"{number} ({self.paper.source})" if self.paper.source and number != "-" else number

    def measured(self) -> str:
        """Our number; a dash if we do not measure it."""
        return "-" if self.measure is None else NOT_RUN if self.runs is None else summary(self.runs, self.measure)

    def counts(self) -> tuple[int, int] | None:
        """How many runs of the row are done, and how many there are in all; None if it is the paper's only."""
        return None if self.row is None else (len(self.runs.runs) if self.runs else 0, len(self.row.run_keys()))


def table_entries(results: Path, name: str) -> list[Entry]:
    """The lines of a table: first the rows that only the paper has, then our rows.

    Args:
        results: Folder of the records.
        name: Name of the table.
    """
    found, published = read_results(results, name), {row.title: row for row in PUBLISHED.get(name, ())}
    ours = {row.title for row in TABLES[name].rows}
    entries = [Entry(column, row) for row in published.values() if row.title not in ours for column in row.cells]
    for row in TABLES[name].rows:
        paper = published.get(row.title, PublishedRow(row.title, {}))
        runs = found.get(row.name)
        # A row that was not run shows the paper's columns only, or one column if the paper has none.
        shown = [measure for measure in row.measures if runs or measure.column in paper.cells] or row.measures[:1]
        entries += [Entry(measure.column, paper, measure, runs, row) for measure in shown]
        measured = {measure.column for measure in row.measures}
        entries += [Entry(column, paper) for column in paper.cells if column not in measured]
    return entries


def table_lines(results: Path, name: str) -> list[Line]:
    """The lines of a table as text, see :func:`table_entries`."""
    lines = []
    for entry in table_entries(results, name):
        done = entry.counts()
        count = "-" if done is None else f"{done[0]} of {done[1]}"
        lines.append(Line(entry.paper.title, entry.column, entry.published(), entry.measured(), count))
    return lines


def table_numbers(results: Path, name: str) -> list[dict[str, Any]]:
    """The lines of a table as numbers for a program, see :func:`table_entries`.

    Returns:
        One dictionary for each line, with the keys of :data:`HEADER`. "paper" has value, std and source; "measured" is
        what :func:`pfgnn.report.results.figures` gives; "runs" has done and planned. Each is None where there is none.
    """
    return [
        {
            "row": entry.paper.title,
            "column": entry.column,
            "paper": _published(entry.paper, entry.column),
            "measured": None if entry.measure is None or entry.runs is None else figures(entry.runs, entry.measure),
            "runs": None if (done := entry.counts()) is None else {"done": done[0], "planned": done[1]},
        }
        for entry in table_entries(results, name)
    ]


def _published(row: PublishedRow, column: str) -> dict[str, Any] | None:
    """The paper's number, its standard deviation and its source."""
    if column not in row.cells:
        return None
    value, _, std = row.cells[column].removesuffix("s").partition(" ± ")  # a time has its unit, seconds
    return {"value": float(value), "std": float(std) if std else None, "source": row.source or None}


def tables_with_records(results: Path) -> list[str]:
    """The names of the tables that have records."""
    return [name for name in TABLES if read_results(results, name)]


def command(name: str) -> str:
    """The command that does the missing runs of a table."""
    return f"pfgnn reproduce {name}"
