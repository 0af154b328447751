"""The commands tables, reproduce, report and curves."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console, make_table
from pfgnn.cli.stopping import going_on
from pfgnn.cli.threads import Threads
from pfgnn.errors import InputError

Results = Annotated[Path, typer.Option(help="Folder of the records, TABLE/ROW.json.")]


def tables(name: Annotated[str | None, typer.Argument(help="A table, to list its rows.")] = None) -> None:
    """List all tables that can be run, or the rows of one table, with their numbers of runs."""
    from pfgnn.experiments.tables import TABLES, find_table

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


def reproduce(
    name: Annotated[str, typer.Argument(help="Name of a table, see `pfgnn tables`.")],
    results: Results = Path("results"),
    runs: Annotated[Path, typer.Option(help="Folder of the run directories.")] = Path("runs"),
    configs: Annotated[Path, typer.Option(help="Folder of the configs.")] = Path("configs"),
    jobs: Annotated[int, typer.Option(help="How many runs at the same time.")] = 1,
    row: Annotated[
        list[str] | None, typer.Option(help="Only rows whose name matches a pattern, such as 'sr25-*'. Repeatable.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Only this many seeds, from 0.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    threads: Threads = None,
) -> None:
    """Run what is missing in a table, continue what was stopped, and print our numbers beside the paper's."""
    from pfgnn.experiments import reproduce as running

    columns = bar_columns("{task.description}", "{task.fields[note]}", elapsed=True)
    with going_on(), Progress(*columns, console=console, speed_estimate_period=float("inf")) as bar:
        shown = bar.add_task(name, total=None, note="")

        def progress(now: running.Progress) -> None:
            elsewhere = f", {now.elsewhere} by another command" if now.elsewhere else ""
            note = f"{now.failed} failed{elsewhere}"
            bar.update(shown, completed=now.done + now.failed, total=now.total, note=note)

        failures = running.reproduce(
            name,
            out=results,
            runs=runs,
            configs=configs,
            jobs=jobs,
            rows=row or (),
            seeds=seeds,
            device=device,
            threads=threads,
            progress=progress,
        )
    _print_table(results, name)
    for failure in failures:
        console.print(f"{failure.run} failed: {failure.reason}", style="red", markup=False, soft_wrap=True)
    if failures:
        raise typer.Exit(1)


def report(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of tables; by default all tables that have records.")
    ] = None,
    results: Results = Path("results"),
    out: Annotated[Path | None, typer.Option(help="Folder to write report.md and its plots to.")] = None,
) -> None:
    """Print tables with the paper's numbers and ours. With --out, write them as Markdown with plots."""
    from pfgnn.report.tables import markdown, table_lines, tables_with_records

    chosen = names or tables_with_records(results)
    if not chosen:
        raise InputError(f"{results} must hold records, which `pfgnn reproduce NAME` writes, but it holds none")
    for name in chosen:
        _print_table(results, name)
    if out is not None:
        from pfgnn.files import write_atomically
        from pfgnn.report.plots import plot_table

        parts = [markdown(name, table_lines(results, name), plot_table(results, name, out)) for name in chosen]
        text = "\n".join(["# The paper's tables and ours\n", *parts])
        write_atomically(out / "report.md", lambda temporary: temporary.write_text(text))
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


def _print_table(results: Path, name: str) -> None:
    from pfgnn.experiments.tables import TABLES
    from pfgnn.report.tables import HEADER, command, table_lines

    lines = table_lines(results, name)
    table = make_table(*HEADER, title=escape(f"{name}: {TABLES[name].title}"), caption=command(name))
    for place, line in enumerate(lines):
        again = place > 0 and lines[place - 1].row == line.row
        table.add_row("" if again else escape(line.row), *map(escape, line[1:]))
    console.print(table)
