"""The command fit. It checks its input before it imports torch, which takes seconds."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console, say, say_found
from pfgnn.cli.fit_results import say_results
from pfgnn.cli.options import Device, Features, Imports, LabelFile, OnError, SmilesColumn, SplitColumn, Targets, Task
from pfgnn.cli.predict import REJECTS_SHOWN, check_on_error
from pfgnn.cli.stopping import going_on
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.cli.train import progress_bar
from pfgnn.errors import InputError, counted, shown

if TYPE_CHECKING:
    from pfgnn.experiments.fit import Given
    from pfgnn.experiments.run_directory import Resume

SPLITS = ("random", "scaffold")


def fit(
    path: Annotated[
        Path,
        typer.Argument(help="CSV file with SMILES, SMILES, graph6 or sparse6, JSON lines, TU folder or packed file."),
    ],
    target: Targets = None,
    out: Annotated[Path | None, typer.Option(help="Model folder to write; by default FILE-model.")] = None,
    split: Annotated[
        str | None,
        typer.Option(help="How parts are drawn: random or scaffold. A packed file keeps its parts if it has some."),
    ] = None,
    split_column: SplitColumn = None,
    task: Task = None,
    smiles_column: SmilesColumn = None,
    labels: LabelFile = None,
    features: Features = "ogb",
    on_error: OnError = "fail",
    test_fraction: Annotated[
        float | None, typer.Option(help="Share of the graphs to test on, once; by default a tenth, or a fifth of few.")
    ] = None,
    validation_fraction: Annotated[
        float | None, typer.Option(help="Share of the graphs that select the best weights; by default as for the test.")
    ] = None,
    calibration_fraction: Annotated[
        float | None, typer.Option(help="Share of the graphs that calibrate intervals; by default as for the test.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=10**9, help="Seed of the parts and of the training.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting, such as model.particles=32. Repeatable.")
    ] = None,
    page: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html, with simple models for comparison.")
    ] = True,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a fit that was stopped. Give the same options again.")
    ] = False,
    resume_previous: Annotated[
        bool, typer.Option("--resume-previous", help="The same from the checkpoint before the last one.")
    ] = False,
    device: Device = "auto",
    threads: Threads = None,
    imports: Imports = None,
) -> None:
    """Fit a model to your own graphs: draw parts, train, test once, calibrate, and report. No config is needed.

    `pfgnn predict` predicts new graphs with the model folder, `pfgnn explain` shows what a prediction depends on.
    """
    from pfgnn.experiments.fit_command import check_same, given_options
    from pfgnn.experiments.run_directory import CONFIG, RECORD, check_directory, check_out

    path.stat()  # raises at once if there is no such file
    if split is not None and split not in SPLITS:
        raise InputError(f"--split must be one of {', '.join(SPLITS)}, but it is {shown(split)}")
    check_on_error(on_error)
    command = given_options(
        {
            "--target": target,
            "--split": split,
            "--split-column": split_column,
            "--task": task,
            "--smiles-column": smiles_column,
            "--labels": labels,
            "--features": features if features != "ogb" else None,
            "--on-error": on_error if on_error != "fail" else None,
            "--test-fraction": test_fraction,
            "--validation-fraction": validation_fraction,
            "--calibration-fraction": calibration_fraction,
            "--seed": seed or None,
            "--set": settings,
            "--import": imports,
        }
    )
    for name in ("--test-fraction", "--validation-fraction", "--calibration-fraction"):
        for share in command.get(name, []):
            if not 0 <= float(share) < 1:
                raise InputError(f"{name} must be at least 0 and below 1, but it is {share}")
    for name in ("--split", "--test-fraction") if split_column is not None else ():
        if name in command:
            raise InputError(f"{name} must not be given with --split-column, which names the parts")
    folder = out or path.parent / f"{path.resolve().name.split('.')[0]}-model"
    check_out(folder)
    begun = (resume or resume_previous) and (folder / CONFIG).exists()
    start: Resume = "no" if not begun else "previous" if resume_previous else "last"
    check_directory(folder, start)
    if begun:
        check_same(folder, path, command, trained=(folder / RECORD).exists())
    with going_on("--resume", instead_of=["--resume-previous"]):
        use_threads(threads)
        from pfgnn.experiments.backbones import import_trusted
        from pfgnn.experiments.fit import FitOptions, go_on, plan_fit, train_plan
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
            command=command,
        )
        check_changes({}, options.overrides)
        if begun:
            with progress_bar() as report:
                record = go_on(folder, options, start, report)
        else:
            # What is not a terminal would get an empty line from a bar that vanishes.
            with Progress(*bar_columns(), console=console, transient=True, disable=not console.is_terminal) as bar:
                reading = bar.add_task(path.name, total=None)
                given = read_given(
                    path,
                    smiles_column=smiles_column,
                    targets=target,
                    features=features,
                    labels=labels,
                    task=task,
                    on_error=on_error,
                    split_column=split_column,
                    progress=lambda number, total: bar.update(reading, completed=number, total=total),
                )
            if split is None and (split_column or {"train", "validation", "test"} <= given.dataset.splits.keys()):
                options = replace(options, split="given")
            plan = plan_fit(given, folder, options)
            _say_data(given)
            if plan.config.model.steps > 1 and not any(text.startswith("model.steps=") for text in options.overrides):
                say(
                    f"Some training graphs look alike with one marked vertex, so each particle marks "
                    f"{plan.config.model.steps} (model.steps)."
                )
            for doubt in plan.warnings:
                console.print(f"Warning: {doubt}.", highlight=False, soft_wrap=True, markup=False)
            with progress_bar() as report:
                record = train_plan(plan, report=report)
        say_results(folder, record)
        if page:
            _write_page(folder, device)


def _write_page(folder: Path, device: str) -> None:
    from pfgnn.report.fit_page import PAGE, write_fit_page
    from pfgnn.report.fit_score_section import NO_FOREST, lacks_forest, verdicts

    console.print("Training simple models for comparison, and writing the report.")
    with progress_bar() as report:
        fitted = write_fit_page(folder, device, report)
    for said in verdicts(fitted) if fitted.baselines else ():
        console.print(said, highlight=False, soft_wrap=True, markup=False)
    if lacks_forest(fitted):
        console.print(NO_FOREST, highlight=False, soft_wrap=True, markup=False)
    console.print(f"Wrote {folder / PAGE}.", soft_wrap=True, markup=False)


def _say_data(given: "Given") -> None:
    """Print what was found in the file."""
    say_found(given.dataset.about)
    for reject in given.rejects[:REJECTS_SHOWN]:
        console.print(f"line {reject.line}: {reject.reason}", highlight=False, soft_wrap=True, markup=False)
    rejected = f"; {counted(len(given.rejects), 'line')} rejected" if given.rejects else ""
    console.print(f"{counted(len(given.dataset), 'graph')}{rejected}.", highlight=False)
