"""The command diagnose."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import Json, console, errors, make_table, print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from pfgnn.data.dataset import Dataset
    from pfgnn.data.shards import Shards


def diagnose(
    data: Annotated[
        str,
        typer.Argument(help="Name of a dataset, packed file (.pfgnn), or any file that `pfgnn data convert` reads."),
    ],
    json: Json = False,
    out: Annotated[Path | None, typer.Option(help="Markdown page to write.")] = None,
    root: Annotated[Path | None, typer.Option(help="Folder to search for datasets before all others.")] = None,
    smiles_column: Annotated[str, typer.Option(help="CSV: name of the column of SMILES.")] = "smiles",
    target: Annotated[
        list[str] | None, typer.Option(help="CSV: name of a target column, if several can be. Repeatable.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="graph6 and SMILES: file of the labels, one per line.")] = None,
    on_error: Annotated[str, typer.Option(help="What to do with a line that cannot be read: fail or skip.")] = "fail",
    processes: Annotated[int | None, typer.Option(min=1, help="Number of processes. By default all cores.")] = None,
) -> None:
    """Find out whether a dataset needs more than 1-WL: graphs that a plain GNN cannot tell apart, and what that costs.

    Shows also copies, leaks between parts, labels that conflict, and which T and K to take.
    """
    from pfgnn.workers import available_cores

    number = processes or available_cores()
    settings = {"smiles_column": smiles_column, "targets": target, "labels": labels, "on_error": on_error}
    with _bar() as progress, _opened(data, root, settings, number, progress) as dataset:
        from pfgnn.report.diagnosis import diagnose as find

        found = find(dataset, number, progress)
    from pfgnn.report.diagnosis_text import markdown, sections, verdict

    if out is not None:
        from pfgnn.files import write_atomically

        write_atomically(out, lambda temporary: temporary.write_text(markdown(found), encoding="utf-8"))
    if json:
        print_json(found.to_json())
        return
    table = make_table("", escape(found.name))
    for title, lines in sections(found).items():
        if lines:
            table.add_section()
            table.add_row(f"[bold]{escape(title)}[/bold]", "")
            for line in lines:
                table.add_row(escape(line.what), escape(line.found))
    console.print(table)
    console.print(verdict(found), markup=False, highlight=False)
    if out is not None:
        console.print(f"Wrote {out}.", markup=False, soft_wrap=True)


@contextmanager
def _opened(
    data: str, root: Path | None, settings: dict[str, Any], processes: int, progress: "Callable[[str, int, int], None]"
) -> "Iterator[Dataset | Shards]":
    """The dataset with a name or in a file. A file of another format is converted into a temporary one.

    A file of graphs without labels can be diagnosed too: all that is said about targets is then left out.
    """
    from pfgnn.data.catalogue import ENTRIES, find_entry
    from pfgnn.data.load import load
    from pfgnn.data.shards import is_folder, open_packed
    from pfgnn.files import ending
    from pfgnn.report.inspection import GRAPH6, MOLECULES

    path = Path(data)
    if data in ENTRIES or not (path.exists() or path.suffix or "/" in data):
        find_entry(data)
        yield load(data, root)
    elif path.suffix == ".pfgnn" or is_folder(path):
        yield open_packed(path)
    elif settings["labels"] is None and ending(path) in (*GRAPH6, *MOLECULES):
        path.stat()  # raises at once if there is no such file
        yield _without_targets(path)
    else:
        path.stat()
        from pfgnn.data.convert_file import convert_file

        with tempfile.TemporaryDirectory(prefix="pfgnn-") as folder:
            packed = Path(folder) / "converted.pfgnn"
            convert_file(
                path,
                packed,
                progress=lambda done, total: progress("reading", done, total),
                processes=processes,
                **settings,
            )
            yield open_packed(packed)


def _without_targets(path: Path) -> "Dataset":
    """The graphs of a file of graph6 or SMILES. The task is to tell them apart."""
    from pfgnn.data.dataset import Dataset
    from pfgnn.data.task import Task
    from pfgnn.report.inspection import read_graphs

    graphs, _ = read_graphs(path)
    return Dataset.from_graphs(graphs, [0] * len(graphs), Task("pair", 1, "none", "pairs"), name=path.name)


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
