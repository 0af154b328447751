"""A table with the paper's numbers and ours: one line for each row and column."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pfgnn.experiments.rows import Measure
from pfgnn.experiments.tables import TABLES
from pfgnn.report.published import PUBLISHED, PublishedRow
from pfgnn.report.results import Runs, figures, read_results, summary

HEADER = ("row", "column", "paper", "measured", "runs")
NOT_RUN = "not run"


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
        planned: Number of runs of the row; None if it is the paper's only.
    """

    column: str
    paper: PublishedRow
    measure: Measure | None = None
    runs: Runs | None = None
    planned: int | None = None


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
        runs, planned = found.get(row.name), len(row.run_keys())
        # A row that was not run shows the paper's columns only, or one column if the paper has none.
        shown = [measure for measure in row.measures if runs or measure.column in paper.cells] or row.measures[:1]
        entries += [Entry(measure.column, paper, measure, runs, planned) for measure in shown]
        measured = {measure.column for measure in row.measures}
        entries += [Entry(column, paper) for column in paper.cells if column not in measured]
    return entries


def table_lines(results: Path, name: str) -> list[Line]:
    """The lines of a table as text, see :func:`table_entries`."""
    lines = []
    for column, paper, measure, runs, planned in table_entries(results, name):
        count = "-" if planned is None else f"{len(runs.runs) if runs else 0} of {planned}"
        number = "-" if measure is None else NOT_RUN if runs is None else summary(runs, measure)
        lines.append(Line(paper.title, column, _cell(paper, column), number, count))
    return lines


def table_numbers(results: Path, name: str) -> list[dict[str, Any]]:
    """The lines of a table as numbers for a program, see :func:`table_entries`.

    Returns:
        One dictionary for each line, with the keys of :data:`HEADER`. "paper" has value, std and source; "measured" is
        what :func:`pfgnn.report.results.figures` gives; "runs" has done and planned. Each is None where there is none.
    """
    return [
        {
            "row": paper.title,
            "column": column,
            "paper": _published(paper, column),
            "measured": None if measure is None or runs is None else figures(runs, measure),
            "runs": None if planned is None else {"done": len(runs.runs) if runs else 0, "planned": planned},
        }
        for column, paper, measure, runs, planned in table_entries(results, name)
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


def markdown(name: str, lines: Sequence[Line], pictures: Sequence[str] = ()) -> str:
    """A table as Markdown, with the command that makes it and with its pictures.

    Args:
        name: Name of the table.
        lines: Lines of the table.
        pictures: File names of the pictures.
    """
    cells = [HEADER, tuple("---" for _ in HEADER), *lines]
    body = "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in cells)
    shown = "".join(f"\n![{TABLES[name].title}]({picture})\n" for picture in pictures)
    return f"## {name}: {TABLES[name].title}\n\n`{command(name)}`\n\n{body}\n{shown}"


def _cell(row: PublishedRow, column: str) -> str:
    number = row.cells.get(column, "-")
    return f"{number} ({row.source})" if row.source and number != "-" else number
