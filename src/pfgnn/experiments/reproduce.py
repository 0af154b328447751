"""Reproduce a table: do all runs that have no record yet, several at once, and gather the records of each row."""

import gc
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pfgnn.argument_checks import check_positive
from pfgnn.errors import explain
from pfgnn.experiments.plan import Job, gather_if_finished, plan
from pfgnn.experiments.run_lock import IN_USE, is_in_use
from pfgnn.experiments.run_progress import Running, read_progress, run_name
from pfgnn.experiments.shipped import CONFIGS
from pfgnn.training.metrics_file import Status

PFGNN = (sys.executable, "-m", "pfgnn")
POLL = 0.05  # seconds between two checks of the running processes
PAUSE = 1.0  # seconds between two checks of runs that other commands do
GRACE = 60.0  # seconds that a run may take to write its checkpoint when it is stopped


class Failure(NamedTuple):
    """A run that failed.

    Fields:
        run: Run directory.
        reason: Error message, or the last line of stderr.
    """

    run: str
    reason: str


class Progress(NamedTuple):
    """The number of runs in each state.

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
    name: str,
    *,
    out: Path = Path("results"),
    runs: Path = Path("runs"),
    configs: Path = CONFIGS,
    jobs: int = 1,
    rows: Sequence[str] = (),
    seeds: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    begin: Callable[[Sequence[Job]], None] = lambda jobs: None,
    progress: Callable[[Progress], None] = lambda progress: None,
    watch: Callable[[Sequence[Running]], None] = lambda running: None,
) -> list[Failure]:
    """Do all runs of a table that are missing, gather their records, and return the runs that failed.

    A run that was stopped continues from its last checkpoint. An exception, such as KeyboardInterrupt, stops all
    processes after they have written a checkpoint. Several commands may reproduce one table together: a run that
    another one does is left to it, and its record is gathered at the end.

    Args:
        name: Name of the table.
        out: Folder of the gathered records, TABLE/ROW.json.
        runs: Folder of the run directories, TABLE/ROW/seedS or TABLE/ROW/seedS-foldF.
        configs: Folder of the configs; by default those that come with pfgnn.
        jobs: Number of runs at the same time. With 1, runs are done in this process. Otherwise each run has its own
            process.
        rows: Patterns of the names of the rows to run, such as "csl-*"; all rows by default.
        seeds: Number of seeds to run, from seed 0; None for all.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        threads: CPU threads of each run. By default 1, or with one job what OMP_NUM_THREADS says.
        begin: Called once, with all runs that have to be done.
        progress: Called before the first run, after each run, and while other commands do all runs that are left.
        watch: Called again and again with how far the current runs are.
    """
    check_positive("jobs", jobs)
    waiting = deque(plan(name, out=out, runs=runs, configs=configs, rows=rows, seeds=seeds))
    if waiting:
        from pfgnn.training.devices import check_device  # imported here because it is slow

        check_device(device)  # otherwise each run would fail for the same reason
    total, done = len(waiting), 0
    failures: list[Failure] = []
    active: list[tuple[Job, subprocess.Popen[bytes]]] = []

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
        while waiting or active:
            while len(active) < jobs and (job := _next(waiting)):
                if jobs == 1:
                    end(job, _run_here(job, device, threads, watch))
                else:
                    active.append((job, _start(job, configs, device, threads or 1)))
            if waiting and not active:
                progress(Progress(done, len(failures), len(waiting), total))
            time.sleep(POLL if active else PAUSE if waiting else 0)
            if active and time.monotonic() - watched > PAUSE:
                watch([read_progress(job.directory) for job, _ in active])
                watched = time.monotonic()
            for ended in [pair for pair in active if pair[1].poll() is not None]:
                active.remove(ended)
                end(ended[0], _finish(*ended))
    finally:
        _stop([process for _, process in active])
    return failures


def _next(waiting: deque[Job]) -> Job | None:
    """Take the first run that no other command does now. None if there is none."""
    for _ in range(len(waiting)):
        job = waiting.popleft()
        if not is_in_use(job.directory):
            return job
        waiting.append(job)
    return None


def _run_here(job: Job, device: str, threads: int | None, watch: Callable[[Sequence[Running]], None]) -> str | None:
    """Do a run in this process and gather its record. Return the error message if it fails, otherwise None."""
    from pfgnn.experiments.run import run  # imported here because it is slow
    from pfgnn.training.devices import set_threads

    set_threads(threads)
    reason = None
    name = run_name(job.directory)
    validation: float | None = None

    def report(now: Status) -> None:
        nonlocal validation
        validation = validation if now.validation is None else now.validation
        watch([Running(name, now.update, now.updates, now.epoch, now.loss, validation)])

    watch([Running(name)])
    try:
        run(job.config, job.directory, device=device, resume="last", report=report)
        gather_if_finished(job)
    except Exception as error:  # a failure must not stop the other runs
        reason = explain(error)
    gc.collect()  # free the memory of this run, which objects that refer to each other keep, for the next one
    return reason


def _start(job: Job, configs: Path, device: str, threads: int) -> "subprocess.Popen[bytes]":
    """Start a run in a new process with a number of threads."""
    job.directory.parent.mkdir(parents=True, exist_ok=True)
    settings = [word for override in job.overrides for word in ("--set", override)]
    command = [*PFGNN, "train", str(configs / job.row.config), "--out", str(job.directory), "--device", device]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    with _log(job).open("wb") as log:  # the process has its own handle of the file
        return subprocess.Popen(
            [*command, *settings, "--resume"], stdout=subprocess.DEVNULL, stderr=log, env=environment
        )


def _stop(processes: "list[subprocess.Popen[bytes]]") -> None:
    """Let runs write a checkpoint and end. One that takes too long is killed, and so are all at a second Ctrl-C."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + GRACE
    try:
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _finish(job: Job, process: "subprocess.Popen[bytes]") -> str | None:
    """Gather the record of a run that ended. Return the error message if it failed, otherwise None."""
    lines = _log(job).read_text(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "nothing on stderr")
    if process.returncode != 0:
        return f"exit status {process.returncode}: {said}"
    try:
        return None if gather_if_finished(job) else f"exit status 0, but there is no record: {said}"
    except ValueError as error:
        return str(error)


def _log(job: Job) -> Path:
    """The file with the stderr of a run, next to the run directory."""
    return job.directory.with_suffix(".log")
