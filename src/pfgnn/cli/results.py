"""The commands tables, report and curves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from pfgnn.cli.console import Json, console, make_table, print_json
from pfgnn.errors import InputError

if TYPE_CHECKING:
    from pfgnn.experiments.rows import TableSpec

Results = Annotated[Path, typer.Option(help="Folder of the records, TABLE/ROW.json.")]


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
    out: Annotated[Path | None, typer.Option(help="Folder to write report.md and its plots to.")] = None,
    json: Json = False,
) -> None:
    """Print tables with the paper's numbers and ours. With --out, write them as Markdown with plots."""
    from pfgnn.report.tables import markdown, table_lines, table_numbers, tables_with_records

    chosen = names or tables_with_records(results)
    if not chosen:
        raise InputError(f"{results} must hold records, which `pfgnn reproduce NAME` writes, but it holds none")
    if json:
        print_json({name: table_numbers(results, name) for name in chosen})
    else:
        for name in chosen:
            print_table(results, name)
    if out is not None:
        from pfgnn.files import write_atomically
        from pfgnn.report.plots import plot_table

        parts = [markdown(name, table_lines(results, name), plot_table(results, name, out)) for name in chosen]
        text = "\n".join(["# The paper's tables and ours\n", *parts])
        write_atomically(out / "report.md", lambda temporary: temporary.write_text(text))
        if not json:
            console.print(f"Wrote {out}/report.md and its plots.", markup=False)


def curves(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or metrics.jsonl files.")],
    out: Annotated[Path, typer.Option(help="Picture to write.")] = Path("curves.png"),
) -> None:
    """Draw training loss and validation metric by epoch. The seeds and folds of one setting have the same colour."""
    from pfgnn.report.metrics_reader import group_runs, read_metrics

    groups = {name: [read_metrics(run) for run in of] for name, of in group_runs(runs).items()}

    from pfgnn.report.curves import plot_training

    plot_training(groups, out)
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
