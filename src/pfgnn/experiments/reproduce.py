"""Reproduce a table: do all runs that have no record yet, several at once, and gather the records of each row."""

import gc
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from pfgnn.argument_checks import check_positive
from pfgnn.errors import InputError, explain
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_comparison import check_same
from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.row_file import Record, gather, read_gathered
from pfgnn.experiments.rows import Row
from pfgnn.experiments.run_directory import RECORD
from pfgnn.experiments.run_lock import IN_USE, is_in_use
from pfgnn.experiments.tables import find_table, row_path
from pfgnn.files import read_json

PFGNN = (sys.executable, "-m", "pfgnn")
POLL = 0.05  # seconds between two checks of the running processes
PAUSE = 1.0  # seconds between two checks of runs that other commands do
GRACE = 60.0  # seconds that a run may take to write its checkpoint when it is stopped


@dataclass(frozen=True)
class Job:
    """One run of a row.

    Args:
        row: Row of the table.
        config: Config of the run, with the overrides.
        overrides: Overrides of the row, followed by the seed and the fold of the run.
        directory: Run directory.
        results: File of the row's gathered records.
    """

    row: Row
    config: Config
    overrides: tuple[str, ...]
    directory: Path
    results: Path


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
    configs: Path = Path("configs"),
    jobs: int = 1,
    rows: Sequence[str] = (),
    seeds: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> list[Failure]:
    """Do all runs of a table that are missing, gather their records, and return the runs that failed.

    A run that was stopped continues from its last checkpoint. An exception, such as KeyboardInterrupt, stops all
    processes after they have written a checkpoint. Several commands may reproduce one table together: a run that
    another one does is left to it, and its record is gathered at the end.

    Args:
        name: Name of the table.
        out: Folder of the gathered records, TABLE/ROW.json.
        runs: Folder of the run directories, TABLE/ROW/seedS or TABLE/ROW/seedS-foldF.
        configs: Folder of the configs.
        jobs: Number of runs at the same time. With 1, runs are done in this process. Otherwise each run has its own
            process.
        rows: Patterns of the names of the rows to run, such as "csl-*"; all rows by default.
        seeds: Number of seeds to run, from seed 0; None for all.
        device: "cpu", "cuda" or "auto".
        threads: CPU threads of each run. By default 1, or with one job what OMP_NUM_THREADS says.
        progress: Called before the first run, after each run, and while other commands do all runs that are left.
    """
    check_positive("jobs", jobs)
    waiting = deque(plan(name, out=out, runs=runs, configs=configs, rows=rows, seeds=seeds))
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

    progress(Progress(done, 0, 0, total))
    try:
        while waiting or active:
            while len(active) < jobs and (job := _next(waiting)):
                if jobs == 1:
                    end(job, _run_here(job, device, threads))
                else:
                    active.append((job, _start(job, configs, device, threads or 1)))
            if waiting and not active:
                progress(Progress(done, len(failures), len(waiting), total))
            time.sleep(POLL if active else PAUSE if waiting else 0)
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


def plan(
    name: str, *, out: Path, runs: Path, configs: Path, rows: Sequence[str] = (), seeds: int | None = None
) -> list[Job]:
    """The runs of a table that have to be done. Finished runs are gathered here.

    Args:
        name: Name of the table.
        out: See :func:`reproduce`.
        runs: See :func:`reproduce`.
        configs: See :func:`reproduce`.
        rows: See :func:`reproduce`.
        seeds: See :func:`reproduce`.
    """
    table = find_table(name)
    check_positive("seeds", 1 if seeds is None else seeds)
    chosen = [row for row in table.rows if not rows or any(fnmatchcase(row.name, pattern) for pattern in rows)]
    if not chosen:
        names = ", ".join(row.name for row in table.rows)
        raise InputError(f"rows must match at least one of {names}, but they are {', '.join(rows)}")
    jobs = []
    for row in chosen:
        results = row_path(out, name, row)
        shared = _without_seed_and_fold(read_config(configs / row.config, row.overrides))
        gathered = set()
        if results.exists():
            found = read_gathered(results)
            check_same(found.config, shared, results)
            gathered = found.run_keys()
        for seed, fold in row.run_keys():
            if (seeds is None or seed < seeds) and (seed, fold) not in gathered:
                job = _job(row, seed, fold, row_path(runs, name, row).with_suffix(""), configs, results)
                if not _gather_if_finished(job):
                    jobs.append(job)
    return jobs


def _job(row: Row, seed: int, fold: int | None, folder: Path, configs: Path, results: Path) -> Job:
    own = (f"seed={seed}",) if fold is None else (f"seed={seed}", f"data.fold={fold}")
    overrides = (*row.overrides, *own)
    config = read_config(configs / row.config, overrides)
    place = f"seed{seed}" if fold is None else f"seed{seed}-fold{fold}"
    return Job(row, config, overrides, folder / place, results)


def _run_here(job: Job, device: str, threads: int | None) -> str | None:
    """Do a run in this process and gather its record. Return the error message if it fails, otherwise None."""
    from pfgnn.experiments.run import run  # imported here because it is slow
    from pfgnn.training.devices import set_threads

    set_threads(threads)
    reason = None
    try:
        run(job.config, job.directory, device=device, resume="last")
        _gather_if_finished(job)
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
        return None if _gather_if_finished(job) else f"exit status 0, but there is no record: {said}"
    except ValueError as error:
        return str(error)


def _gather_if_finished(job: Job) -> bool:
    """Gather the record of a run if there is one. Return whether there is one."""
    path = job.directory / RECORD
    if not path.exists():
        return False
    record: Record = read_json(path)
    if not isinstance(record.get("config"), dict):
        raise InputError(f"{path} must be the record of a run, but it has no config")
    check_same(record["config"], job.config, path)
    gather(job.results, config_mapping(job.config), record)
    return True


def _log(job: Job) -> Path:
    """The file with the stderr of a run, next to the run directory."""
    return job.directory.with_suffix(".log")


def _without_seed_and_fold(config: Config) -> Config:
    return replace(config, seed=0, data=replace(config.data, fold=None))
