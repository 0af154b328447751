"""The commands tables, report and curves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from pfgnn.cli.console import Json, console, make_table, print_json, say
from pfgnn.cli.options import Results
from pfgnn.errors import InputError

if TYPE_CHECKING:
    from pfgnn.experiments.rows import TableSpec


def table_names(incomplete: str) -> list[str]:
    """The tables that a shell completes."""
    from pfgnn.experiments.tables import TABLES

    return [name for name in TABLES if name.startswith(incomplete)]


def tables(
    name: Annotated[str | None, typer.Argument(help="A table, to list its rows.", autocompletion=table_names)] = None,
    json: Json = False,
) -> None:
    """List all tables that can be run, or the rows of one table, with their numbers of runs."""
    from pfgnn.experiments.tables import TABLES, find_table

    if json:
        chosen = TABLES if name is None else {name: find_table(name)}
        print_json([_table_object(table, spec) for table, spec in chosen.items()])
        return
    if name is None:
        shown = make_table("table", "what it shows", "rows", "runs")
        for table, spec in TABLES.items():
            runs = sum(len(row.run_keys()) for row in spec.rows)
            shown.add_row(table, escape(spec.title), str(len(spec.rows)), str(runs))
    else:
        shown = make_table("row", "title", "config", "runs")
        for row in find_table(name).rows:
            shown.add_row(row.name, escape(row.title), row.config, str(len(row.run_keys())))
    console.print(shown)


def report(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names of tables; by default all tables that have records.", autocompletion=table_names),
    ] = None,
    results: Results = Path("results"),
    out: Annotated[Path | None, typer.Option(help="Folder to write one HTML page and plots of the tables to.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write docs/results.md and the table of README.md, in a checkout of pfgnn.")
    ] = False,
    json: Json = False,
) -> None:
    """Print tables with the published numbers and ours. With --out and --write, write them as pages."""
    from pfgnn.experiments.run_directory import check_not_own
    from pfgnn.files import check_folder
    from pfgnn.report.tables import table_numbers, tables_with_records

    if write and names:
        raise InputError("--write writes all tables, so it must be given without names of tables")
    if out is not None:
        check_folder(out)
        check_not_own(out / "report.html")
    chosen = names or tables_with_records(results)
    if not chosen:
        raise InputError(f"{results} must hold records, which `pfgnn reproduce NAME` writes, but it holds none")
    if json:
        print_json({name: table_numbers(results, name) for name in chosen})
    elif not write:
        for name in chosen:
            print_table(results, name)
    wrote = [*(_write_files(results) if write else []), *(_write_page(results, names, out) if out else [])]
    if wrote and not json:
        say(f"Wrote {' and '.join(map(str, wrote))}.")


def _write_files(results: Path) -> list[Path]:
    """Write the generated files of the checkout in the current folder, and return their paths."""
    from pfgnn.files import write_text
    from pfgnn.report.result_files import generated_files

    texts = generated_files(results, Path())
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def _write_page(results: Path, names: list[str] | None, out: Path) -> list[Path]:
    """Write the HTML page and the plots, and return the page."""
    from pfgnn.experiments.tables import TABLES, find_table
    from pfgnn.files import write_text
    from pfgnn.report.plots import plot_table
    from pfgnn.report.results_html import PAGE, results_html

    for name in names or []:
        find_table(name)
    text = results_html(results, names or list(TABLES))
    for name in names or TABLES:
        plot_table(results, name, out)
    write_text(out / PAGE, text)
    return [out / PAGE]


def curves(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or metrics.jsonl files.")],
    out: Annotated[Path, typer.Option(help="Picture to write.")] = Path("curves.png"),
) -> None:
    """Draw training loss and validation metric by epoch. The seeds and folds of one setting have the same colour."""
    from pfgnn.report.metrics_reader import group_runs, read_metrics, validation_metric

    groups = group_runs(runs)
    lines = {name: [read_metrics(run) for run in of] for name, of in groups.items()}
    known = {name: next(filter(None, map(validation_metric, of)), None) for name, of in groups.items()}

    from pfgnn.report.curves import plot_training

    plot_training(lines, out, {name: metric for name, metric in known.items() if metric})
    console.print(f"Wrote {out}.", markup=False)


def _table_object(name: str, spec: "TableSpec") -> dict[str, Any]:
    """A table and its rows for JSON."""
    rows = [
        {"row": row.name, "title": row.title, "config": row.config, "runs": len(row.run_keys())} for row in spec.rows
    ]
    return {"table": name, "title": spec.title, "rows": rows}


def print_table(results: Path, name: str) -> None:
    """Print a table with the paper's numbers and ours.

    Args:
        results: Folder of the records.
        name: Name of the table.
    """
    from pfgnn.experiments.tables import TABLES
    from pfgnn.report.tables import HEADER, command, table_lines

    lines = table_lines(results, name)
    table = make_table(*HEADER, title=escape(f"{name}: {TABLES[name].title}"), caption=command(name))
    for place, line in enumerate(lines):
        again = place > 0 and lines[place - 1].row == line.row
        table.add_row("" if again else escape(line.row), *map(escape, line[1:]))
    console.print(table)
