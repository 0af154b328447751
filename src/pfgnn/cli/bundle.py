"""The commands bundle and unbundle."""

from pathlib import Path
from typing import Annotated

import typer

from pfgnn.cli.console import errors, say
from pfgnn.cli.options import Results, Runs
from pfgnn.cli.results import table_names
from pfgnn.errors import counted


def bundle(
    file: Annotated[Path, typer.Argument(help="Bundle to write (.zip).")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of tables; by default all.", autocompletion=table_names)
    ] = None,
    results: Results = Path("results"),
    runs: Runs = Path("runs"),
    most: Annotated[
        int | None,
        typer.Option(help="Most MiB of one file. FILE.zip then becomes FILE-1.zip, FILE-2.zip and so on."),
    ] = None,
    weights: Annotated[bool, typer.Option("--weights", help="Add the weights of finished runs.")] = False,
) -> None:
    """Pack the runs and records of tables, to go on with `pfgnn reproduce` on another machine.

    A bundle has the checkpoint of an unfinished run, or the record of a finished one, with its config and metrics.
    """
    from pfgnn.experiments.tables import choose_tables

    choose_tables(names or [])  # a wrong name is told before the rest is imported, which takes seconds
    from pfgnn.experiments.bundle import write_bundle

    done = write_bundle(file, names or [], runs=runs, results=results, most=most, weights=weights)
    for directory in done.in_use:
        errors.print(f"{directory} is left out, because a process trains in it.", markup=False, highlight=False)
    sizes = ", ".join(f"{path} ({path.stat().st_size / 2**20:.1f} MiB)" for path in done.files)
    runs_in_it = f"{counted(done.finished, 'finished run')}, {done.unfinished} to go on with"
    say(f"Wrote {sizes}: {runs_in_it}, records of {counted(done.rows, 'row')}.")


def unbundle(
    files: Annotated[list[Path], typer.Argument(help="Bundles, as `pfgnn bundle` writes them.")],
    results: Results = Path("results"),
    runs: Runs = Path("runs"),
) -> None:
    """Put the runs and records of bundles in their place. A run that is further here stays as it is."""
    for file in files:
        file.stat()
    from pfgnn.experiments.unbundle import unbundle as put_in_place

    done = put_in_place(files, runs=runs, results=results)
    say(f"Put {counted(done.runs, 'run')} into {runs}, and added {counted(done.records, 'record')} to {results}.")
    if done.kept:
        as_it_was = "as it is" if done.kept == 1 else "as they are"
        say(f"{counted(done.kept, 'run')} stayed {as_it_was} here, because the bundle has nothing newer.")
