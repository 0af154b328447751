"""The command fit. It checks its input before it imports torch, which takes seconds."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console
from pfgnn.cli.predict import REJECTS_SHOWN
from pfgnn.cli.stopping import going_on
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.cli.train import Device, Imports, print_results, progress_bar
from pfgnn.errors import InputError, shown

if TYPE_CHECKING:
    from pfgnn.experiments.fit import Given

SPLITS = ("random", "scaffold")


def fit(
    path: Annotated[
        Path,
        typer.Argument(help="CSV file with SMILES, SMILES, graph6 or sparse6, JSON lines, TU folder or packed file."),
    ],
    target: Annotated[
        list[str] | None, typer.Option(help="CSV: name of a target column, if several can be. Repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Model folder to write; by default FILE-model.")] = None,
    split: Annotated[
        str | None,
        typer.Option(help="How parts are drawn: random or scaffold. A packed file keeps its parts if it has some."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="classification or regression. By default the targets decide.")
    ] = None,
    smiles_column: Annotated[
        str | None, typer.Option(help="CSV: name of the column of SMILES. By default the one that looks like it.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="graph6 and SMILES: file of the labels, one per line.")] = None,
    features: Annotated[str, typer.Option(help="Set of features of molecules: ogb, zinc or qm9.")] = "ogb",
    on_error: Annotated[str, typer.Option(help="What to do with a line that cannot be read: fail or skip.")] = "fail",
    test_fraction: Annotated[
        float | None, typer.Option(help="Share of the graphs to test on, once; by default a tenth, or a fifth of few.")
    ] = None,
    validation_fraction: Annotated[
        float | None, typer.Option(help="Share of the graphs that select the best weights; by default the same.")
    ] = None,
    calibration_fraction: Annotated[
        float | None, typer.Option(help="Share of the graphs that calibrate intervals; by default the same.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=10**9, help="Seed of the parts and of the training.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting, such as model.particles=32. Repeatable.")
    ] = None,
    page: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html, with simple models for comparison.")
    ] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a fit that was stopped.")] = False,
    device: Device = "auto",
    threads: Threads = None,
    imports: Imports = None,
) -> None:
    """Fit a model to your own graphs: draw parts, train, test once, calibrate, and report. No config is needed.

    `pfgnn predict` predicts new graphs with the model folder, `pfgnn explain` shows what a prediction depends on.
    """
    from pfgnn.experiments.run_directory import CONFIG, check_directory

    path.stat()  # raises at once if there is no such file
    if split is not None and split not in SPLITS:
        raise InputError(f"--split must be one of {', '.join(SPLITS)}, but it is {shown(split)}")
    folder = out or path.parent / f"{path.resolve().name.split('.')[0]}-model"
    begun = resume and (folder / CONFIG).exists()
    check_directory(folder, "last" if begun else "no")
    with going_on("--resume"):
        use_threads(threads)
        from pfgnn.experiments.backbones import import_trusted
        from pfgnn.experiments.fit import FitOptions, go_on
        from pfgnn.experiments.fit import fit as fit_graphs
        from pfgnn.experiments.fit_defaults import check_changes
        from pfgnn.experiments.fit_file import read_given
        from pfgnn.experiments.fit_parts import Shares

        import_trusted(imports or [])
        options = FitOptions(
            Shares(validation_fraction, calibration_fraction, test_fraction),
            split or "random",
            seed,
            overrides=tuple(settings or ()),
            device=device,
        )
        check_changes({}, options.overrides)
        if begun:
            with progress_bar() as report:
                record = go_on(folder, options, "last", report)
        else:
            with Progress(*bar_columns(), console=console, transient=True) as bar:
                reading = bar.add_task(path.name, total=None)
                given = read_given(
                    path,
                    smiles_column=smiles_column,
                    targets=target,
                    features=features,
                    labels=labels,
                    task=task,
                    on_error=on_error,
                    progress=lambda number, total: bar.update(reading, completed=number, total=total),
                )
            _say_data(given)
            if split is None and {"train", "validation", "test"} <= given.dataset.splits.keys():
                options = replace(options, split="given")
            with progress_bar() as report:
                record = fit_graphs(given, folder, options, report=report)
        _say_results(folder, record)
        if page:
            _write_page(folder, device)


def _write_page(folder: Path, device: str) -> None:
    from pfgnn.report.fit_page import write_fit_page

    console.print("Training simple models for comparison, and writing the report.")
    with progress_bar() as report:
        written = write_fit_page(folder, device, report)
    console.print(f"Wrote {written}.", soft_wrap=True, markup=False)


def _say_data(given: "Given") -> None:
    """Print what was found in the file."""
    for key in ("target column", "labels", "classes", "unknown labels"):
        if what := given.dataset.about.get(key):
            console.print(f"{key.capitalize()}: {what}.", highlight=False, soft_wrap=True, markup=False)
    for reject in given.rejects[:REJECTS_SHOWN]:
        console.print(f"line {reject.line}: {reject.reason}", highlight=False, soft_wrap=True, markup=False)
    rejected = f"; {len(given.rejects)} lines rejected" if given.rejects else ""
    console.print(f"{len(given.dataset)} graphs{rejected}.", highlight=False)


def _say_results(folder: Path, record: dict[str, Any]) -> None:
    from pfgnn.experiments.model_folder import TEST, read_facts

    facts = read_facts(folder)
    if facts is not None:
        sizes = ", ".join(f"{size} {name}" for name, size in facts.parts.items())
        console.print(f"Graphs: {sizes}.", highlight=False)
    print_results(record)
    seconds = record["seconds"]["training"]
    console.print(
        f"{record['updates']} updates in {seconds:.0f} s, {record['parameters']} parameters, {record['device']}.",
        markup=False,
    )
    tested = f", the test part in {TEST}" if (folder / TEST).exists() else ""
    console.print(f"Wrote {folder}{tested}.", soft_wrap=True, markup=False)
    console.print(
        f"Predict new graphs with: pfgnn predict {shlex.quote(str(folder))} FILE", soft_wrap=True, markup=False
    )
