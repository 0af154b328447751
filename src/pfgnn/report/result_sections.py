"""The page of results as sections: every table beside the published numbers, and what was not run yet."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pfgnn.errors import counted
from pfgnn.experiments.tables import TABLES, row_path
from pfgnn.experiments.yaml_text import load_yaml
from pfgnn.report.blocks import Section, Table
from pfgnn.report.brec import FOLDER, PairTable, brec_header, brec_rows, not_compared, read_brec
from pfgnn.report.grids import Grid, gather_grids
from pfgnn.report.published import PAPER, PUBLISHED, WORKS
from pfgnn.report.results import read_results
from pfgnn.report.run_facts import FACT_COLUMNS, NONE, run_facts
from pfgnn.report.tables import NOT_RUN, Entry, command, table_entries

NOTES_FILE = Path(__file__).with_name("notes.yaml")
NOTES: dict[str, str] = load_yaml(NOTES_FILE.read_text(encoding="utf-8"), NOTES_FILE.name)
HOW_TO_READ = (
    "± is the standard deviation (n − 1) over seeds and folds. T is the number of steps, 0 for the backbone alone. K "
    "is the number of particles in training, and in the test where it is another one. Draws are the predictions of "
    "each graph in the test. The time is the median of the trainings, with the device. A dash means that there is no "
    f'such number, and "{NOT_RUN}" that our run is still to be done, by the command below its table. '
    "[docs/data.md](data.md) says where the data must lie."
)
BREC_TITLE = "Pairs of BREC told apart, by category"
BREC_STEPS = 2  # of the table of BREC before there is a record: what `pfgnn pairs` tries by default


def result_sections(results: Path, links_from: Path) -> list[Section]:
    """A section for each table, then BREC.

    Args:
        results: Folder of the records.
        links_from: Folder of the page, for links to the records.
    """
    tables = [table_section(results, name, links_from) for name in TABLES]
    return [*tables, brec_section(results, links_from)]


def overview(results: Path) -> Table:
    """How much of each table was run.

    Args:
        results: Folder of the records.
    """
    rows = [
        (f"[{name}](#{name})", spec.title, f"{len(read_results(results, name))} of {len(spec.rows)}")
        for name, spec in TABLES.items()
    ]
    records = len(list((results / FOLDER).glob("*.json")))
    rows.append((f"[{FOLDER}](#{FOLDER})", BREC_TITLE, counted(records, "record")))
    return Table("All tables", ("table", "what it shows", "rows run"), tuple(rows))


def sources() -> Section:
    """The works that the published numbers are taken from."""
    said = (f"**{name}**: {work}." for name, work in WORKS.items())
    return Section("sources", "Where the published numbers come from", tuple(said))


def table_section(results: Path, name: str, links_from: Path) -> Section:
    """The section of a table.

    Args:
        results: Folder of the records.
        name: Name of the table.
        links_from: Folder of the page, for links to the records.
    """
    grids = gather_grids(results, name)
    # A cell of a grid that was not run stands in the grid only.
    entries = [of for of in table_entries(results, name) if not (of.row and of.row.grid and of.runs is None)]
    tables = [table for grid in grids for table in _grid_tables(grid)]
    if entries:
        tables.append(_detail_table(entries, "The runs" if grids else ""))
    folders = dict.fromkeys(path.parent for row in TABLES[name].rows if (path := row_path(results, name, row)).exists())
    done = "does the runs that are missing, and prints this table"
    return Section(
        name,
        TABLES[name].title,
        tuple(text for text in (NOTES.get(name, ""), _published_note(name)) if text),
        tuple(tables),
        f"`{command(name)}` {done}. {_records(list(folders), links_from)}",
    )


def brec_section(results: Path, links_from: Path) -> Section:
    """The section of BREC.

    Args:
        results: Folder of the records.
        links_from: Folder of the page, for links to the records.
    """
    found = read_brec(results)
    published = Table(
        "Published", ("model", "pairs of 400"), tuple((row.title, *row.cells.values()) for row in PUBLISHED[FOLDER])
    )
    ours = [
        Table(brec_caption(of), brec_header(of.first, of.steps), tuple(brec_rows(of.lines, of.first, of.steps)))
        for of in found
    ]
    empty = Table("Ours", brec_header(0, BREC_STEPS), tuple(brec_rows(not_compared(), 0, BREC_STEPS)))
    folders = [results / FOLDER] if found else []
    return Section(
        FOLDER,
        BREC_TITLE,
        (NOTES[FOLDER], _published_note(FOLDER)),
        (*(ours or [empty]), published),
        f"`pfgnn pairs {FOLDER} --out FILE` makes a record, and goes on with one; `docs/brec.md` has all commands. "
        f"{_records(folders, links_from)}",
    )


def brec_caption(of: PairTable) -> str:
    """How a record of BREC was made."""
    drawn = f"{of.how}, K {of.particles}, {of.draws} draws, {counted(of.seeds, 'seed')}"
    how = drawn if of.draws != NONE else "in the limit"
    return f"Ours, `{of.name}`: T {'≤' if of.first < of.steps else '='} {of.steps}, {how}, {of.device}"


def _detail_table(entries: Sequence[Entry], caption: str) -> Table:
    """A line for each row and column. What belongs to the whole row stands in its first line."""
    columns = tuple(dict.fromkeys(entry.column for entry in entries))
    several, quoted = len(columns) > 1, any(entry.paper.cells for entry in entries)
    header = ("row", *(["column"] if several else []), *(["published"] if quoted else []), "ours", *FACT_COLUMNS)
    rows, last, sourced = [], None, False
    for entry in entries:
        again, last = entry.paper.title == last, entry.paper.title
        published = entry.number() if again and sourced else entry.published()
        sourced = (again and sourced) or published != "-"
        facts = run_facts(entry.row, entry.runs) if entry.row else (NONE,) * len(FACT_COLUMNS)
        cells = [
            "" if again else entry.paper.title,
            *([entry.column] if several else []),
            *([_dash(published)] if quoted else []),
            _dash(entry.measured()),
            *("" if again else fact for fact in facts),
        ]
        rows.append(tuple(cells))
    named = (caption,) if several else (caption, *columns)
    return Table(", ".join(filter(None, named)), header, tuple(rows))


def _grid_tables(grid: Grid) -> list[Table]:
    header = (grid.side, *(f"K = {K}" for K in grid.particles))
    printed = tuple(
        (line, *(f"{number:g}" if np.isfinite(number) else NONE for number in numbers))
        for line, numbers in zip(grid.lines, grid.paper.tolist(), strict=True)
    )
    ours = tuple((line, *texts) for line, texts in zip(grid.lines, grid.texts, strict=True))
    published = [Table(f"{grid.title}: published", header, printed)] if np.isfinite(grid.paper).any() else []
    return [*published, Table(f"{grid.title}: ours", header, ours)]


def _published_note(name: str) -> str:
    """Where the published numbers of a table stand; empty if there are none."""
    rows = PUBLISHED.get(name, ())
    if not rows:
        return ""
    works = {row.work: [other.place for other in rows if other.work == row.work] for row in rows}
    places = "; ".join(f"{work}, {', '.join(dict.fromkeys(of))}" for work, of in works.items())
    quotes = any(row.work == PAPER and row.source for row in rows)
    return f"Published numbers: {places}." + (
        " A name in brackets is the work that it quotes, for the whole row." if quotes else ""
    )


def _records(folders: Sequence[Path], links_from: Path) -> str:
    """Where the records lie."""
    if not folders:
        return "There are no records yet."
    links = (f"[`{folder.parent.name}/{folder.name}`]({_link(folder, links_from)})" for folder in folders)
    return f"Records: {', '.join(links)}."


def _link(folder: Path, links_from: Path) -> str:
    return Path(os.path.relpath(folder, links_from)).as_posix()


def _dash(text: str) -> str:
    return NONE if text == "-" else text
