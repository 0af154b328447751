"""Reproduce tables: do all runs that have no record yet, several at once, and gather the records of each row."""

import gc
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pfgnn.argument_checks import check_positive
from pfgnn.errors import explain
from pfgnn.experiments.budget import Budget
from pfgnn.experiments.plan import Job, gather_if_finished, plan
from pfgnn.experiments.run_lock import IN_USE, is_in_use
from pfgnn.experiments.run_process import RunProcess, stop
from pfgnn.experiments.run_progress import Running, read_progress, run_name
from pfgnn.experiments.shipped import CONFIGS
from pfgnn.interrupts import ALARM, Stopped, time_limit
from pfgnn.training.metrics_file import Status

POLL = 0.05  # seconds between two checks of the running processes
PAUSE = 1.0  # seconds between two checks of runs that other commands do


class Failure(NamedTuple):
    """A run that failed.

    Fields:
        run: Run directory.
        reason: Error message, or the last line of stderr.
    """

    run: str
    reason: str


class Progress(NamedTuple):
    """The number of runs in each state. The others are left.

    Fields:
        done: Runs that succeeded.
        failed: Runs that failed.
        elsewhere: Runs that are left, and that another command does now.
        total: All runs that have to be done.
    """

    done: int
    failed: int
    elsewhere: int
    total: int


def reproduce(
    names: Sequence[str],
    *,
    out: Path = Path("results"),
    runs: Path = Path("runs"),
    configs: Path = CONFIGS,
    jobs: int = 1,
    rows: Sequence[str] = (),
    seeds: int | None = None,
    minutes: float | None = None,
    device: str = "auto",
    threads: int | None = None,
    begin: Callable[[Sequence[Job]], None] = lambda jobs: None,
    progress: Callable[[Progress], None] = lambda progress: None,
    watch: Callable[[Sequence[Running]], None] = lambda running: None,
) -> list[Failure]:
    """Do all runs of tables that are missing, gather their records, and return the runs that failed.

    A run that was stopped continues from its last checkpoint. An exception, such as KeyboardInterrupt, stops all
    processes after they have written a checkpoint. Several commands may reproduce one table together: a run that
    another one does is left to it, and its record is gathered at the end.

    Args:
        names: Names of the tables, the most important one first; "all" for all.
        out: Folder of the gathered records, TABLE/ROW.json.
        runs: Folder of the run directories, TABLE/ROW/seedS or TABLE/ROW/seedS-foldF.
        configs: Folder of the configs; by default those that come with pfgnn.
        jobs: Number of runs at the same time. With 1, runs are done in this process. Otherwise each run has its own
            process.
        rows: Patterns of the names of the rows to run, such as "csl-*"; all rows by default.
        seeds: Number of seeds to run, from seed 0; None for all.
        minutes: Time after which the runs write a checkpoint and stop; None for no limit. With one job, call this in
            the main thread.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        threads: CPU threads of each run. By default 1, or with one job what OMP_NUM_THREADS says.
        begin: Called once, with all runs that have to be done.
        progress: Called before the first run, after each run, and while other commands do all runs that are left.
        watch: Called again and again with how far the current runs are.
    """
    budget = Budget(minutes)
    check_positive("jobs", jobs)
    waiting = deque(plan(names, out=out, runs=runs, configs=configs, rows=rows, seeds=seeds))
    if waiting:
        from pfgnn.training.devices import check_device  # imported here because it is slow

        check_device(device)  # otherwise each run would fail for the same reason
    budget.note_start(budget.begun)
    total, done = len(waiting), 0
    failures: list[Failure] = []
    active: list[RunProcess] = []

    def end(job: Job, reason: str | None) -> None:
        """Count a run that ended: with the reason if it failed."""
        nonlocal done
        if reason is None:
            done += 1
        elif IN_USE in reason or is_in_use(job.directory):  # another command was faster, and may have ended by now
            waiting.append(job)
        else:
            failures.append(Failure(str(job.directory), reason))
        progress(Progress(done, len(failures), 0, total))

    begin(tuple(waiting))
    progress(Progress(done, 0, 0, total))
    watched = time.monotonic()
    try:
        while (active or (waiting and budget.is_worth_a_start())) and not budget.is_over():
            while len(active) < jobs and budget.is_worth_a_start() and (job := _next(waiting)):
                if jobs > 1:
                    active.append(RunProcess(job, configs, device, threads or 1))
                    continue
                try:
                    reason = _run_here(job, device, threads, budget, watch)
                except Stopped as stopped:
                    if stopped.number not in ALARM:
                        raise
                    return failures
                end(job, reason)
            if waiting and not active:
                progress(Progress(done, len(failures), len(waiting), total))
            time.sleep(POLL if active else PAUSE if waiting else 0)
            for one in active:
                if one.begins_to_train():
                    budget.note_start(one.begun)
            if active and time.monotonic() - watched > PAUSE:
                watch([read_progress(one.job.directory) for one in active])
                watched = time.monotonic()
            for one in [one for one in active if one.has_ended()]:
                active.remove(one)
                end(one.job, one.gather())
    finally:
        stop([one.process for one in active])
    for one in active:  # the time is up
        if not one.was_stopped():
            end(one.job, one.gather())
    return failures


def _next(waiting: deque[Job]) -> Job | None:
    """Take the first run that no other command does now. None if there is none."""
    for _ in range(len(waiting)):
        job = waiting.popleft()
        if not is_in_use(job.directory):
            return job
        waiting.append(job)
    return None


def _run_here(
    job: Job, device: str, threads: int | None, budget: Budget, watch: Callable[[Sequence[Running]], None]
) -> str | None:
    """Do a run in this process and gather its record. Return the error message if it fails, otherwise None.

    When the time is up, Stopped is raised after a checkpoint was written.
    """
    begun = time.monotonic()
    from pfgnn.experiments.run import run  # imported here because it is slow
    from pfgnn.training.devices import set_threads

    set_threads(threads)
    reason = None
    name = run_name(job.directory)
    validation: float | None = None
    trains = False

    watch([Running(name)])
    with time_limit(budget.seconds()) as set_limit:

        def report(now: Status) -> None:
            nonlocal validation, trains
            validation = validation if now.validation is None else now.validation
            watch([Running(name, now.update, now.updates, now.epoch, now.loss, validation)])
            if not trains:
                trains = True
                budget.note_start(begun)
                set_limit(budget.seconds())

        try:
            run(job.config, job.directory, device=device, resume="last", report=report)
            gather_if_finished(job)
        except Exception as error:  # a failure must not stop the other runs
            reason = explain(error)
    gc.collect()  # free the memory of this run, which objects that refer to each other keep, for the next one
    return reason
