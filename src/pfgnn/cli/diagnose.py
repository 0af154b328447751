"""The command diagnose."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import Json, console, errors, make_table, print_json, say
from pfgnn.cli.options import LabelFile, OnError, Processes, Root, SmilesColumn, SplitColumn, Targets
from pfgnn.errors import counted

if TYPE_CHECKING:
    from collections.abc import Callable


def diagnose(
    data: Annotated[
        str,
        typer.Argument(help="Name of a dataset, packed file (.pfgnn), or any file that `pfgnn data convert` reads."),
    ],
    json: Json = False,
    out: Annotated[Path | None, typer.Option(help="Markdown page to write.")] = None,
    root: Root = None,
    smiles_column: SmilesColumn = None,
    target: Targets = None,
    labels: LabelFile = None,
    on_error: OnError = "fail",
    split_column: SplitColumn = None,
    processes: Processes = None,
) -> None:
    """Find out whether a dataset needs more than 1-WL: graphs that a plain GNN cannot tell apart, and what that costs.

    It also shows copies, leaks between parts, labels that conflict, and which T and K to take.

    Graphs are counted from 0.
    """
    from pfgnn.cli.diagnosed_data import Options, opened
    from pfgnn.workers import available_cores

    number = processes or available_cores()
    options = Options(smiles_column, target, labels, on_error, split_column)
    with _bar() as progress, opened(data, root, options, number, progress) as (dataset, name, skipped):
        from pfgnn.report.diagnosis import diagnose as find

        found = replace(find(dataset, number, progress), name=name)
    from pfgnn.report.diagnosis_text import markdown, sections, verdict

    if out is not None:
        from pfgnn.files import write_text

        write_text(out, markdown(found))
    if json:
        print_json({**found.to_json(), "skipped_lines": skipped})
        return
    table = make_table("", escape(found.name))
    for title, lines in sections(found).items():
        if lines:
            table.add_section()
            table.add_row(f"[bold]{escape(title)}[/bold]", "")
            for line in lines:
                table.add_row(escape(line.what), escape(line.found))
    console.print(table)
    say(verdict(found))
    if skipped:
        left = "was left out: it" if skipped == 1 else "were left out: they"
        said = f"{counted(skipped, 'line')} {left} could not be read. Numbers count the graphs that were read."
        say(said)
    if out is not None:
        say(f"Wrote {out}.")


@contextmanager
def _bar() -> "Iterator[Callable[[str, int, int], None]]":
    """A progress bar with a line for each stage. Yields the function that updates it."""
    shown_on = console if console.is_terminal else errors
    with Progress(*bar_columns(), console=shown_on, transient=True, disable=not shown_on.is_terminal) as bar:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield progress
