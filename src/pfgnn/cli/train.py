"""The commands train and evaluate.

Each command checks its input before it imports torch, which takes seconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns, fitting, gone_after_errors
from pfgnn.cli.configs import config_names
from pfgnn.cli.console import Json, console, make_table, print_json
from pfgnn.cli.options import Device, Imports, Model, Settings
from pfgnn.cli.stopping import going_on
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.errors import InputError, shown
from pfgnn.files import reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from pfgnn.experiments.config import DataConfig
    from pfgnn.training.metrics_file import Status


def train(
    config: Annotated[
        Path,
        typer.Argument(
            help="Config file (YAML), or name of a config that `pfgnn configs` lists, such as csl.",
            autocompletion=config_names,
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Run directory to write; by default runs/CONFIG-seedN.")] = None,
    settings: Settings = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last checkpoint, if there is one.")
    ] = False,
    resume_previous: Annotated[
        bool, typer.Option("--resume-previous", help="Continue from the checkpoint before the last one.")
    ] = False,
    device: Device = "auto",
    threads: Threads = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write metrics for TensorBoard too.")] = False,
    imports: Imports = None,
) -> None:
    """Train a model and test it. --resume continues a stopped run, on a CPU with the same result."""
    from pfgnn.experiments.config_file import read_config
    from pfgnn.experiments.run_directory import RECORD, Resume, check_directory

    chosen = read_config(config, settings or ())
    if out is None:
        fold = "" if chosen.data.fold is None else f"-fold{chosen.data.fold}"
        out = Path("runs") / f"{config.stem}-seed{chosen.seed}{fold}"
    start: Resume = "previous" if resume_previous else "last" if resume else "no"
    check_directory(out, start)
    if not (out / RECORD).exists():  # a finished run does not need its data
        check_data(chosen.data)

    with going_on("--resume", instead_of=["--resume-previous"], folder=out):
        use_threads(threads)
        from pfgnn.experiments.backbones import import_trusted
        from pfgnn.experiments.run import run

        import_trusted(imports or [])
        with progress_bar() as report:
            record = run(chosen, out, device=device, resume=start, tensorboard=tensorboard, report=report)
    with reading(out / RECORD, "be the record of a run"):  # a finished run prints the record that it finds
        print_results(record)
        seconds = record["seconds"]["training"]
        console.print(
            f"{record['updates']} updates in {seconds:.0f} s, {record['parameters']} parameters, {record['device']}; "
            f"{record['selected']} weights. Wrote {out}/record.json.",
            markup=False,
        )


def evaluate(
    directory: Model,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change a setting of the evaluation, such as evaluation.particles=64, or data.name if its file was "
            "moved. Repeatable.",
        ),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    json: Json = False,
    imports: Imports = None,
) -> None:
    """Test a trained model again, and compare the numbers with the recorded ones."""
    from pfgnn.experiments.pretrained import find_model
    from pfgnn.experiments.run_directory import read_record, read_run_config

    overrides = tuple(settings or ())
    if wrong := [override for override in overrides if not override.startswith(("evaluation.", "data.name="))]:
        raise InputError(f"--set can only change evaluation.* and data.name here, but it is {shown(wrong[0])}")
    directory = find_model(directory)
    recorded = read_record(directory)
    data = read_run_config(directory, overrides).data
    if data.file is not None and not data.file.exists():
        raise InputError(f"{data.file} must be the data of the run, but it is not there; --set data.name=FILE names it")
    check_data(data)

    use_threads(threads)
    from pfgnn.experiments.backbones import import_trusted
    from pfgnn.experiments.finished_run import evaluate_run

    import_trusted(imports or [])
    found = evaluate_run(directory, device=device, overrides=overrides)
    comparable = not any(override.startswith("evaluation.") for override in overrides)
    same = all(found[key] == recorded[key] for key in ("results", "pairs")) if comparable else None
    if json:
        print_json({**found, "same_as_record": same})
        return
    print_results(found)
    if same is not None:
        how = "identical" if same else _difference(found, recorded)
        console.print(f"Compared with the record: {how}.", markup=False)


def _difference(found: dict[str, Any], recorded: dict[str, Any]) -> str:
    """How far results are from those of the record, in words. Another processor rounds differently."""
    new, old = ({**_numbers(of["results"], "results"), **_numbers(of["pairs"], "pairs")} for of in (found, recorded))
    changes = {name: abs(number - old[name]) for name, number in new.items() if name in old}
    values = max((change for name, change in changes.items() if name.endswith(".value")), default=0.0)
    rest = max(changes.values(), default=0.0)
    how = (
        f"different, the values by at most {values:.1g}"
        if values or not rest
        else f"the same values; other numbers, such as the spread, differ by at most {rest:.1g}"
    )
    return f"{how}; the record was made on {recorded['device']}"


def _numbers(content: object, name: str) -> dict[str, float]:
    """All numbers of nested results, by the names that lead to them."""
    if isinstance(content, int | float):
        return {name: float(content)}
    items = content.items() if isinstance(content, dict) else enumerate(content if isinstance(content, list) else ())
    return {key: number for of, value in items for key, number in _numbers(value, f"{name}.{of}").items()}


def check_data(data: "DataConfig") -> None:
    """Raise if the dataset or file does not exist, before torch is imported."""
    from pfgnn.data.catalogue import find_entry

    if data.file is None:
        find_entry(data.name)
    else:
        data.file.stat()


@contextmanager
def progress_bar() -> Iterator["Callable[[Status], None]"]:
    """Show a progress bar with losses, effective sample size, entropy, learning rate and validation metric.

    A narrow terminal shows the first of them. Yields the function that updates the bar.
    """
    with (
        Progress(*bar_columns("epoch {task.fields[epoch]}", "{task.fields[text]}"), console=console) as bar,
        gone_after_errors(bar),
    ):
        task = bar.add_task("", total=None, epoch=0, text="loading")
        validation: list[str] = []

        def report(status: "Status") -> None:
            nonlocal validation
            if status.validation is not None:
                validation = [f"validation {status.validation:.4g}"]
            parts = [
                f"loss {status.loss:.4g}",
                *validation,
                f"lr {status.learning_rate:.1e}",
                f"entropy {status.entropy:.1f}",
                f"ess {status.ess:.1f}",
                f"policy {status.policy_loss:.2g}",
            ]
            counts = f"{status.updates}/{status.updates}"  # the widest that it will be
            text = fitting(parts, f"epoch {status.epoch}", counts, console)
            bar.update(task, completed=status.update, total=status.updates, epoch=status.epoch, text=text)

        yield report


def print_results(record: dict[str, Any]) -> None:
    """Print a table with the results of each part, and the results of the pairs."""
    table = make_table("part", "metric", "value", "std over draws", "spread of a prediction", "draws", "also")
    for part, result in record["results"].items():
        also = ", ".join(f"{k} {v:.4g}" for k, v in result["scores"].items() if k != result["metric"])
        spreads = f"{result['std']:.4f}", f"{result['spread']:.4f}"
        values = f"{result['value']:.4f}", *spreads, str(len(result["draws"]))
        table.add_row(part, result["metric"], *values, also)
    if record["results"]:
        console.print(table)
    if pairs := record["pairs"]:
        reliably = f"{pairs['told_apart']} of {pairs['pairs']} reliably, {pairs['false_alarms']} false alarms"
        by_one_draw = f"{pairs['paper_told_apart']} by the paper's rule, {pairs['paper_false_alarms']} false alarms"
        controls = f"in {pairs['controls']} isomorphic pairs"
        console.print(f"Pairs told apart: {reliably}; {by_one_draw}; both {controls}.", markup=False)
        if pairs["accuracy"] is not None:
            share = f"{pairs['accuracy']:.4%} of {pairs['predictions']}"
            console.print(f"Classes named on fresh relabellings: {share} draws.", markup=False)
