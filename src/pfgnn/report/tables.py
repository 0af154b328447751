"""A table with the paper's numbers and ours: one line for each row and column."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pfgnn.experiments.tables import TABLES
from pfgnn.report.published import PUBLISHED, PublishedRow
from pfgnn.report.results import read_results, summary

HEADER = ("row", "column", "paper", "measured", "runs")
NOT_RUN = "not run"


class Line(NamedTuple):
    """The paper's number and ours, all as text.

    Fields:
        row: Title of the row.
        column: Name of the column.
        paper: The paper's number; if the paper quotes it, with the source.
        ours: Our number.
        runs: How many of the runs are done, such as "3 of 10".
    """

    row: str
    column: str
    paper: str
    ours: str
    runs: str


def table_lines(results: Path, name: str) -> list[Line]:
    """The lines of a table: first the rows that only the paper has, then our rows.

    Args:
        results: Folder of the records.
        name: Name of the table.
    """
    found, published = read_results(results, name), {row.title: row for row in PUBLISHED.get(name, ())}
    ours = {row.title for row in TABLES[name].rows}
    lines = [
        Line(row.title, column, _cell(row, column), "-", "-")
        for row in published.values()
        if row.title not in ours
        for column in row.cells
    ]
    for row in TABLES[name].rows:
        paper = published.get(row.title, PublishedRow(row.title, {}))
        runs = found.get(row.name)
        count = f"{len(runs.runs) if runs else 0} of {len(row.run_keys())}"
        # A row that was not run shows the paper's columns only, or one column if the paper has none.
        shown = [measure for measure in row.measures if runs or measure.column in paper.cells] or row.measures[:1]
        for measure in shown:
            number = summary(runs, measure) if runs else NOT_RUN
            lines.append(Line(row.title, measure.column, _cell(paper, measure.column), number, count))
        measured = {measure.column for measure in row.measures}
        unmeasured = [column for column in paper.cells if column not in measured]
        lines += [Line(row.title, column, _cell(paper, column), "-", "-") for column in unmeasured]
    return lines


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
