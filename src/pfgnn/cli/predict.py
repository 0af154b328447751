"""The command predict. It checks its input before it imports torch, which takes seconds."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console, say
from pfgnn.cli.options import Device, Imports, Model, SmilesColumn
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.errors import InputError, counted, shown
from pfgnn.files import check_writable
from pfgnn.setting_types import MOST_DRAWS, MOST_PARTICLES, check_draws
from pfgnn.workers import MOST_PROCESSES

if TYPE_CHECKING:
    from pfgnn.experiments.model_folder import Facts
    from pfgnn.experiments.prediction_table import Predictions

ON_ERROR = ("fail", "skip")
REJECTS_SHOWN = 20  # rejected lines that are printed


def predict(
    directory: Model,
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
        typer.Option(
            help="Share of true values that intervals should hold; by default 0.9 if the model is calibrated."
        ),
    ] = None,
    smiles_column: SmilesColumn = None,
    on_error: Annotated[
        str, typer.Option(help="What to do with a line that cannot be read: fail, or skip, which predicts nothing.")
    ] = "fail",
    processes: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_PROCESSES, help="Processes that read graphs; by default all cores for many graphs."
        ),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    imports: Imports = None,
) -> None:
    """Predict new graphs with a trained model. The table has the noise of each prediction, and the columns of a CSV.

    Graphs and vertices are counted from 0.
    """
    from pfgnn.experiments.pretrained import card_limits, find_model
    from pfgnn.experiments.run_directory import check_not_own, read_record

    check_draws(draws, particles)
    check_on_error(on_error)
    directory = find_model(directory)
    read_record(directory)
    path.stat()  # both lines raise at once if a file is missing
    if out.is_dir():
        raise InputError(f"out must be a file, but {out} is a folder; write {out / 'predictions.csv'}, for instance")
    check_not_own(out)
    check_writable(out)
    if out.resolve() == path.resolve():
        raise InputError(f"out must be a file other than the one to read, but it is {out}")

    use_threads(threads)
    from pfgnn.data.task import CLASS_LOSSES
    from pfgnn.experiments.backbones import import_trusted
    from pfgnn.experiments.intervals import say_joined, say_no_interval, usual_coverage
    from pfgnn.experiments.predict import load_run
    from pfgnn.experiments.prediction_table import class_names, write_table

    import_trusted(imports or [])
    noted = Noted()
    run = load_run(directory, device)
    chosen, why_none = usual_coverage(run.task, run.calibration) if coverage is None else (coverage, "")
    if run.calibration is None and run.facts is not None:
        why_none = _why_not_calibrated(directory, run.facts)
    bar = Progress(*bar_columns("graphs"), console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("", total=None)
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
    with bar:
        rows = write_table(out, noted.each(pieces))
    noted.show()
    if limits := card_limits(directory):
        say(f"Limits of this model: {limits}.")
    if warned := noted.outside.say():
        console.print(f"Warning: {warned}.", markup=False, highlight=False, soft_wrap=True)
    node_level, classes = run.task.level == "node", run.task.loss in CLASS_LOSSES
    what = counted(rows, "node") if node_level else counted(rows - noted.count, "graph")
    how = f", means of {draws} draws" if noted.noise else ""
    console.print(f"Predicted {what}{how}; wrote {out}.", markup=False, soft_wrap=True)
    errors = "tell the noise of the draws alone" if noted.noise else "are 0, because nothing is drawn at random"
    say(f"The standard errors {errors}. They do not tell how far a prediction is from the truth.")
    hold = "sets hold the true class" if classes else "intervals hold the true value"
    if chosen is not None:
        of_what, but = "the graphs", ""
        if run.calibration is not None and run.calibration.by_class:
            but = say_joined(class_names(run.task), run.calibration, chosen)
            of_what = "the graphs" if but else "the graphs of each class"
        elif run.calibration is not None and not classes:
            known = {name: len(of) for name, of in zip(run.names, run.calibration.scores, strict=True)}
            but = say_no_interval(known, chosen)
        say(f"The {hold} of {100 * chosen:g} % of {of_what}, if they are like those of the fit.")
        if but:
            say(f"But {but}.")
    elif why_none:
        kind = "sets of classes" if classes else "intervals"
        console.print(f"There are no {kind}: {why_none}.", markup=False, highlight=False, soft_wrap=True)


def check_on_error(value: str) -> None:
    """Raise an InputError unless the option --on-error is fail or skip."""
    if value not in ON_ERROR:
        raise InputError(f"--on-error must be one of {', '.join(ON_ERROR)}, but it is {shown(value)}")


def _why_not_calibrated(directory: Path, facts: "Facts") -> str:
    """Why a model of `pfgnn fit` has no calibration."""
    from pfgnn.experiments.run_directory import resume_command

    if "calibration" in facts.parts:
        return f"the fit has not finished; go on with: {resume_command(directory, '--resume')}"
    return "the model was fitted without graphs for calibration (--calibration-fraction)"


class Noted:
    """What is told of a file: lines that could not be read, graphs that are unlike the training data, and noise.

    The number of the first two is noted, with the reasons of the first lines.
    """

    def __init__(self) -> None:
        from pfgnn.experiments.intervals import Outside

        self.count, self.noise = 0, False
        self.first: list[str] = []
        self.outside = Outside()

    def each(self, pieces: "Iterator[Predictions]") -> "Iterator[Predictions]":
        """The pieces, of which this is noted."""
        for piece in pieces:
            self.count += len(piece.rejects)
            self.noise |= bool((piece.error > 0).any())
            self.outside.add(piece)
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
