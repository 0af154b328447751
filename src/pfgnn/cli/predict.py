"""The command predict. It checks its input before it imports torch, which takes seconds."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.cli.train import Device, Imports
from pfgnn.errors import InputError, counted
from pfgnn.setting_types import MOST_DRAWS, MOST_PARTICLES, check_draws
from pfgnn.workers import MOST_PROCESSES

if TYPE_CHECKING:
    from pfgnn.experiments.prediction_table import Predictions

REJECTS_SHOWN = 20  # rejected lines that are printed


def predict(
    directory: Annotated[
        Path, typer.Argument(help="Folder that `pfgnn fit` or `pfgnn train` wrote, or model that `pfgnn cards` lists.")
    ],
    path: Annotated[
        Path,
        typer.Argument(
            help="New graphs: SMILES (.csv, .tsv, .smi), graph6, sparse6 (.g6, .s6), .jsonl, packed (.pfgnn) or shards."
        ),
    ],
    out: Annotated[Path, typer.Option(help="CSV table to write.")] = Path("predictions.csv"),
    draws: Annotated[int, typer.Option(help=f"Independent draws to average, 2 to {MOST_DRAWS}.")] = 16,
    particles: Annotated[
        int | None,
        typer.Option(help=f"K, number of particles, at most {MOST_PARTICLES}; by default as the run was tested."),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(help="Share of true values that intervals shall hold; by default 0.9 if the model is calibrated."),
    ] = None,
    smiles_column: Annotated[
        str | None, typer.Option(help="CSV: name of the column of SMILES. By default the one that looks like it.")
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="What to do with a line that cannot be read: fail, or skip, which predicts nothing.")
    ] = "fail",
    processes: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_PROCESSES, help="Processes that make graphs; by default all cores if it pays."),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    imports: Imports = None,
) -> None:
    """Predict new graphs with a trained model. Each output has its Monte Carlo noise; the columns of a CSV are kept.

    Graphs and vertices are counted from 0.
    """
    from pfgnn.experiments.pretrained import find_model
    from pfgnn.experiments.run_directory import read_record

    check_draws(draws, particles)
    directory = find_model(directory)
    read_record(directory)
    path.stat()  # both lines raise at once if a file is missing
    if out.is_dir():
        raise InputError(f"out must be a file, but {out} is a folder; write {out / 'predictions.csv'}, for instance")
    if out.resolve() == path.resolve():
        raise InputError(f"out must be a file other than the one to read, but it is {out}")

    use_threads(threads)
    from pfgnn.experiments.backbones import import_trusted
    from pfgnn.experiments.intervals import too_large, usual_coverage
    from pfgnn.experiments.predict import load_run
    from pfgnn.experiments.prediction_table import write_table

    import_trusted(imports or [])
    noted = Noted()
    with Progress(*bar_columns("graphs"), console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        run = load_run(directory, device)
        chosen, why_none = usual_coverage(run.task, run.calibration) if coverage is None else (coverage, "")
        pieces = run.predict_file(
            path,
            draws,
            particles,
            coverage=chosen,
            smiles_column=smiles_column,
            on_error=on_error,
            processes=processes,
            progress=lambda done, count: bar.update(task, completed=int(done), total=count),
        )
        rows = write_table(out, noted.each(pieces))
    noted.show()
    if noted.larger and run.facts is not None:
        console.print(f"Warning: {too_large(noted.larger, run.facts.largest)}.", markup=False, soft_wrap=True)
    what = counted(rows, "node" if run.task.level == "node" else "graph")
    console.print(f"Wrote {what}, means of {draws} draws, to {out}.", markup=False)
    console.print("The standard errors tell the noise of the draws alone, not how far a prediction is from the truth.")
    if chosen is not None:
        console.print(f"The intervals hold {100 * chosen:g} % of the true values of graphs like those of the fit.")
    elif why_none:
        console.print(f"There are no intervals: {why_none}.", markup=False, soft_wrap=True)


class Noted:
    """What is told of a file: how many lines could not be read, the first of them, and how many graphs are large."""

    def __init__(self) -> None:
        self.count = self.larger = 0
        self.first: list[str] = []

    def each(self, pieces: "Iterator[Predictions]") -> "Iterator[Predictions]":
        """The pieces, of which this is noted."""
        for piece in pieces:
            self.count += len(piece.rejects)
            self.larger += piece.larger
            for line, reason in piece.rejects[: REJECTS_SHOWN - len(self.first)]:
                self.first.append(f"line {line}: {reason}")
            yield piece

    def show(self) -> None:
        """Print the first lines with their reasons, and the number of all."""
        for line in self.first:
            console.print(line, highlight=False, soft_wrap=True, markup=False)
        if self.count:
            were = "was rejected and has" if self.count == 1 else "were rejected and have"
            console.print(f"{counted(self.count, 'line')} {were} no prediction.")
