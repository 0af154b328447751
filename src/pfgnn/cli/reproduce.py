"""The command reproduce."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress, TaskID

from pfgnn.cli.bars import NAME, bar_columns, fitting
from pfgnn.cli.console import console, say
from pfgnn.cli.options import Device, Results, Runs
from pfgnn.cli.results import print_table, table_names
from pfgnn.cli.stopping import going_on, say_again
from pfgnn.cli.threads import Threads
from pfgnn.errors import counted

if TYPE_CHECKING:
    from pfgnn.experiments import reproduce as running
    from pfgnn.experiments.plan import Job
    from pfgnn.experiments.run_progress import Running

RECORDED = Path("results")  # in the folder of a checkout: where times are looked for beside --results


def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Names of tables, see `pfgnn tables`, the most important one first; or all.",
            autocompletion=table_names,
        ),
    ],
    results: Results = Path("results"),
    runs: Runs = Path("runs"),
    configs: Annotated[
        Path | None, typer.Option(help="Folder of the configs. By default those that come with pfgnn.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="How many runs at the same time.")] = 1,
    minutes: Annotated[
        float | None,
        typer.Option(help="Stop after this time, with a checkpoint of each run. The same command goes on."),
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option(
            help="Only the row of this title, or rows whose file in results/TABLE matches 'sr25-*'. Repeatable."
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Only this many seeds, from 0.")] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Run what is missing in tables, continue what was stopped, and print our numbers beside the paper's.

    Tables are run in the order given. In a table, unfinished runs come first, then the first seed of each row.

    With --minutes, no run is started that would have to stop at once.

    First it prints how long the missing runs took when they were recorded, and on which device.
    """
    from pfgnn.experiments import reproduce as running
    from pfgnn.experiments.shipped import CONFIGS
    from pfgnn.experiments.tables import choose_tables

    columns = bar_columns("{task.description}", "{task.fields[note]}", elapsed=True)
    bar = Progress(*columns, console=console, speed_estimate_period=float("inf"))
    with going_on(), ExitStack() as shown:
        bars = _Bars(bar, " ".join(names))

        def begin(missing: "Sequence[Job]") -> None:
            """Show the bar now: all arguments are checked, and there is something to do."""
            if missing:
                _say_expected(missing, results, jobs, _own_device(device, jobs, threads))
                shown.enter_context(bar)

        failures = running.reproduce(
            names,
            out=results,
            runs=runs,
            configs=configs or CONFIGS,
            jobs=jobs,
            rows=row or (),
            seeds=seeds,
            minutes=minutes,
            device=device,
            threads=threads,
            begin=begin,
            progress=bars.count,
            watch=bars.watch,
        )
    for name in choose_tables(names):
        print_table(results, name)
    if not bars.total:
        say(f"Nothing was run: {results}/ has the records of all these runs. Other --results and --runs do them again.")
    for failure in failures:
        console.print(f"{failure.run} failed: {failure.reason}", style="red", markup=False, soft_wrap=True)
    if bars.left:
        done = f"{bars.done} of {counted(bars.total, 'run')} ended well"
        say_again(f"The time is up: {done}, {bars.left} {'is' if bars.left == 1 else 'are'} left.")
    if failures:
        raise typer.Exit(1)


def _own_device(device: str, jobs: int, threads: int | None) -> str:
    """The name of the device that the runs will have, as records have it."""
    import torch

    from pfgnn.experiments.provenance import device_name
    from pfgnn.training.devices import check_device

    given = threads or (1 if jobs > 1 or "OMP_NUM_THREADS" not in os.environ else torch.get_num_threads())
    return device_name(torch.device(check_device(device)), given)


def _say_expected(missing: "Sequence[Job]", results: Path, jobs: int, own: str) -> None:
    """Print how long the missing runs took when they were recorded.

    Args:
        missing: The runs that have to be done.
        results: Folder of the records.
        jobs: How many runs at the same time.
        own: Name of the device of these runs. Times of other devices are no forecast for it.
    """
    from pfgnn.experiments.run_progress import expected_time

    rows: dict[Path, list[Path]] = {}
    for job in missing:
        rows.setdefault(job.results.relative_to(results), []).append(job.directory)
    places = list(dict.fromkeys([results, RECORDED]))
    found = expected_time(rows, places)
    where = " or ".join(f"{place}/" for place in places)
    said = f"{len(missing)} {'run is' if len(missing) == 1 else 'runs are'} missing."
    if found.runs:
        of = f"{found.runs} of them" if found.unknown else "It" if found.runs == 1 else "They"
        if found.devices == (own,):
            at_once = f" with {jobs} at a time" if jobs > 1 else ""
            time = f"{duration(found.seconds / min(jobs, found.runs))} of training and tests{at_once}"
            # Records name a GPU, but of a CPU only the threads.
            which = "; that CPU may be faster or slower than this one" if own.startswith("CPU") else ""
            said += f" {of} should need about {time}, as recorded on {own}{which}."
        else:
            after = ", one after another" if found.runs > 1 else ""
            said += f" {of} took {duration(found.seconds)} of training and tests{after}, on another device: "
            said += f"{' and '.join(found.devices)}. Here it is {own}, and it may take much more or less time."
    if found.unknown:
        of = f"the other {found.unknown}" if found.runs else "it" if len(missing) == 1 else "them"
        elsewhere = "" if RECORDED.exists() else "; a checkout of pfgnn has records, so start from its folder"
        said += f" No time is recorded for {of} in {where}{elsewhere}."
    console.print(said, markup=False, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """A time in words that a person reads at a glance, such as "3 min"."""
    for size, name in ((86_400, "days"), (3600, "hours"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(1, seconds):.0f} s"


class _Bars:
    """A bar for the tables, and below it one for each run that is going on.

    Args:
        bar: Shows them.
        name: Names of the tables.
    """

    def __init__(self, bar: Progress, name: str) -> None:
        self.bar = bar
        self.table = bar.add_task(name, total=None, note="")
        self.runs: dict[str, TaskID] = {}
        self.total = self.done = self.ended = 0

    @property
    def left(self) -> int:
        """How many runs have not ended."""
        return self.total - self.ended

    def count(self, now: "running.Progress") -> None:
        """Show how many runs are done. The bars of runs vanish; those that go on come back with the next news."""
        elsewhere = f", {now.elsewhere} by another command" if now.elsewhere else ""
        self.total, self.done, self.ended = now.total, now.done, now.done + now.failed
        self.bar.update(self.table, completed=self.ended, total=now.total, note=f"{now.failed} failed{elsewhere}")
        self._keep(())

    def watch(self, runs: "Sequence[Running]") -> None:
        """Show how far runs are. The bar of the table counts them by the share that is done."""
        self._keep([run.name for run in runs])
        for run in runs:
            if run.name not in self.runs:
                end = run.name if len(run.name) <= NAME else f"…{run.name[1 - NAME :]}"  # the end tells runs apart
                self.runs[run.name] = self.bar.add_task(end, total=None, note="starting")
            if run.updates:
                parts = [f"epoch {run.epoch}"]
                parts += [] if run.validation is None else [f"validation {run.validation:.4g}"]
                parts += [] if run.loss is None else [f"loss {run.loss:.4g}"]
                counts = f"{run.updates}/{run.updates}"
                note = fitting(parts, run.name[:NAME], f"{counts} 0:00:00", console)
                self.bar.update(self.runs[run.name], completed=run.update, total=run.updates, note=note)
        self.bar.update(self.table, completed=self.ended + sum(run.share for run in runs))

    def _keep(self, names: Sequence[str]) -> None:
        """Remove the bars of all runs that are not named."""
        for name in [name for name in self.runs if name not in names]:
            self.bar.remove_task(self.runs.pop(name))
