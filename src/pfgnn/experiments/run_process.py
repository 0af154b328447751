"""A run of a table in a process of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGTERM

from pfgnn.experiments.plan import Job, gather_if_finished
from pfgnn.experiments.run_directory import CONFIG

PFGNN = (sys.executable, "-m", "pfgnn")
GRACE = 60.0  # seconds that a run may take to write its checkpoint when it is stopped
STOPPED = (128 + SIGTERM, -SIGTERM)  # exit statuses of a run that was stopped; the second one in its first moment


class RunProcess:
    """Starts a run in a new process.

    Args:
        job: The run.
        configs: Folder of the configs.
        device: "cpu", "cuda" or "auto".
        threads: Number of CPU threads.
    """

    def __init__(self, job: Job, configs: Path, device: str, threads: int) -> None:
        self.job, self.begun = job, time.monotonic()
        self._before, self._trains = _written(job), False
        job.directory.parent.mkdir(parents=True, exist_ok=True)
        settings = [word for override in job.overrides for word in ("--set", override)]
        command = [*PFGNN, "train", str(configs / job.row.config), "--out", str(job.directory), "--device", device]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with _log(job).open("wb") as log:  # the process has its own handle of the file
            self.process = subprocess.Popen(
                [*command, *settings, "--resume"], stdout=subprocess.DEVNULL, stderr=log, env=environment
            )

    def begins_to_train(self) -> bool:
        """Whether the run has ended its start since the last call. It writes its config then."""
        before, self._trains = self._trains, self._trains or _written(self.job) != self._before
        return self._trains and not before

    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def was_stopped(self) -> bool:
        """Whether the process ended because :func:`stop` asked it to."""
        return self.process.returncode in STOPPED

    def gather(self) -> str | None:
        """Gather the record of a run that ended. Return the error message if it failed, otherwise None."""
        lines = _log(self.job).read_text(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "nothing on stderr")
        if self.process.returncode != 0:
            return f"exit status {self.process.returncode}: {said}"
        try:
            return None if gather_if_finished(self.job) else f"exit status 0, but there is no record: {said}"
        except ValueError as error:
            return str(error)


def stop(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
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


def _log(job: Job) -> Path:
    """The file with the stderr of a run, next to the run directory."""
    return job.directory.with_suffix(".log")


def _written(job: Job) -> int | None:
    """When the config of a run was written; None if it was not."""
    try:
        return (job.directory / CONFIG).stat().st_mtime_ns
    except FileNotFoundError:
        return None
