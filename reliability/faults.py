"""Lets the machine fail while pfgnn works: kills it, fills the disk, forbids to write, sets the clock back.

After each fault the command is given again. Then every result must be the same, bit for bit, as without the fault.
Until then each output file is either missing or whole. `make faults` runs it and prints a table.
"""

import argparse
import ctypes
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from pfgnn.cli.app import main as run_command
from pfgnn.data import Dataset
from pfgnn.experiments import tables
from reliability.work import TINY, Work, same, works, write_inputs

Prepare = Callable[[], object]
KILLED = -signal.SIGKILL


def start(arguments: list[object], log: Path, prepare: Prepare | None = None) -> int:
    """Run a command in a copy of this process, which has everything imported. Returns its process id."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.setsid()
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["pfgnn", *map(str, arguments)]
        if prepare is not None:
            prepare()
        run_command()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def finish(process: int) -> int:
    """Wait for a process. Returns its exit status, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Trial:
    """One command under one fault, in a folder of its own."""

    def __init__(self, work: Work, folder: Path, expected: Any) -> None:
        self.work, self.folder, self.expected = work, folder, expected
        self.log = folder.with_suffix(".log")
        folder.mkdir()

    def said(self) -> str:
        """The end of what the command printed."""
        return " ".join(self.log.read_text(errors="replace").split())[-300:]

    def check_whole(self) -> None:
        """Raise unless each output file is missing or whole."""
        for name in self.work.outputs:
            path = self.folder / name
            if path.exists() and path.suffix == ".json":
                json.loads(path.read_text())
            if path.exists() and path.suffix == ".pfgnn":
                Dataset.open(path)
            if path.exists() and path.suffix == ".csv" and path.read_bytes() != self.expected:
                raise AssertionError(f"{name} is there, but not whole")

    def check_sentence(self, status: int) -> None:
        """Raise unless the command ended with a sentence. `reproduce` ends with one for each run that failed."""
        said = self.said()
        expected, start = (1, "failed:") if self.work.name == "reproduce" and status == 1 else (2, "pfgnn:")
        if status != expected or "Traceback" in said or "bug" in said or start not in said:
            raise AssertionError(f"status {status}: {said}")

    def check_same(self) -> None:
        """Give the command again without a fault, and raise unless its results are as expected."""
        if self.work.results(self.folder) is None:
            status = finish(start(self.work.again(self.folder), self.log))
            if status:
                raise AssertionError(f"status {status}: {self.said()}")
        if not same(self.work.results(self.folder), self.expected):
            raise AssertionError("the results differ from those without the fault")


def kill(trial: Trial, rng: random.Random, seconds: float) -> None:
    """kill -9 at random moments, up to three times in a row."""
    for _ in range(rng.randint(1, 3)):
        if trial.work.results(trial.folder) is not None:
            break
        process = start(trial.work.again(trial.folder), trial.log)
        time.sleep(rng.uniform(0, 1.1 * seconds))
        os.kill(process, signal.SIGKILL)
        status = finish(process)
        if status not in (KILLED, 0):
            raise AssertionError(f"status {status}: {trial.said()}")
        trial.check_whole()


def full_disk(trial: Trial, rng: random.Random, seconds: float) -> None:
    """No file may grow beyond some bytes. To a program this looks like a full disk."""
    size = rng.choice((0, 100, 2000, 10_000))

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    # The log would not grow either, so what the command says goes through a pipe.
    status, said = through_pipe(trial.work.command(trial.folder), prepare)
    trial.log.write_text(said)
    trial.check_whole()
    if status:
        trial.check_sentence(status)


def read_only(trial: Trial, rng: random.Random, seconds: float) -> None:
    """The folder may not be written to."""
    trial.folder.chmod(0o555)
    status = finish(start(trial.work.command(trial.folder), trial.log, obey_permissions))
    trial.folder.chmod(0o755)
    if list(trial.folder.iterdir()):
        raise AssertionError("something was written")
    trial.check_sentence(status)


def clock_back(trial: Trial, rng: random.Random, seconds: float) -> None:
    """The clock jumps back by an hour at a random moment."""
    clock, jump = time.time, time.time() + rng.uniform(0, seconds)

    def prepare() -> None:
        time.time = lambda: clock() - 3600 * (clock() > jump)

    status = finish(start(trial.work.command(trial.folder), trial.log, prepare))
    if status:
        raise AssertionError(f"status {status}: {trial.said()}")


def two_writers(trial: Trial, rng: random.Random, seconds: float) -> None:
    """Two processes give the same command at about the same time."""
    other = trial.log.with_suffix(".other")
    first = start(trial.work.again(trial.folder), trial.log)
    time.sleep(rng.uniform(0, 0.3 * seconds))
    second = start(trial.work.again(trial.folder), other)
    ends = [(finish(first), trial.log), (finish(second), other)]
    for status, log in ends:
        said = " ".join(log.read_text().split())
        if status not in (0, 1, 2) or "Traceback" in said or "bug" in said:
            raise AssertionError(f"status {status}: {said[-300:]}")
    if all(status for status, _ in ends):
        raise AssertionError("neither of the two finished")
    trial.check_whole()


def out_of_memory(trial: Trial, rng: random.Random, seconds: float) -> None:
    """The device runs out of memory at a random operation of the model."""
    left = rng.randrange(1, 60)

    def hook(module: torch.nn.Module, inputs: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise torch.OutOfMemoryError("CUDA out of memory")

    def prepare() -> None:
        torch.nn.modules.module.register_module_forward_pre_hook(hook)

    status = finish(start(trial.work.command(trial.folder), trial.log, prepare))
    trial.check_whole()
    if status:
        trial.check_sentence(status)


FAULTS = {kill: 50, full_disk: 5, read_only: 1, clock_back: 2, two_writers: 5, out_of_memory: 3}  # times each


def obey_permissions() -> None:
    """Take from this process the right of root to write where the permissions forbid it (CAP_DAC_OVERRIDE of Linux)."""
    library = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the version of the call, and this process
    rights = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable rights, 64 bits each in two halves
    if library.capget(header, rights):
        raise OSError(ctypes.get_errno(), "capget")
    rights[0] &= ~(1 << 1)
    if library.capset(header, rights):
        raise OSError(ctypes.get_errno(), "capset")


def through_pipe(arguments: list[object], prepare: Prepare) -> tuple[int, str]:
    """Run a command whose output goes through a pipe. Returns its exit status and its output."""
    end, begin = os.pipe()

    def redirect() -> None:
        os.dup2(begin, 1)
        os.dup2(begin, 2)
        # Those of this process may be files. Python would seek in them, which a pipe refuses.
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        prepare()

    process = start(arguments, Path(os.devnull), redirect)
    os.close(begin)
    with os.fdopen(end, errors="replace") as file:
        said = file.read()
    return finish(process), said


def main() -> None:
    """Read the options, let everything fail, and print a table. Exits with status 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="share of the faults to try")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    known = parser.parse_args()
    torch.set_num_threads(1)
    tables.TABLES["tiny"] = TINY
    counts: Counter[tuple[str, str, bool]] = Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        samples = folder / "samples"
        samples.mkdir()
        process = os.fork()  # this process must not train itself, because its copies could not then
        if process == 0:
            write_inputs(samples)
            os._exit(0)
        finish(process)
        for work in works(samples):
            reference = Trial(work, folder / work.name, None)
            begun = time.monotonic()
            if finish(start(work.command(reference.folder), reference.log)):
                sys.exit(f"{work.name} fails without a fault: {reference.said()}")
            seconds, expected = time.monotonic() - begun, work.results(reference.folder)
            for fault, times in FAULTS.items():
                for number in range(max(1, round(times * known.share))):
                    case = f"{work.name}-{fault.__name__}-{number}"
                    trial = Trial(work, folder / case, expected)
                    try:
                        fault(trial, random.Random(f"{known.seed} {case}"), seconds)
                        trial.check_same()
                        good = True
                    except Exception as error:
                        print(f"{case}: {type(error).__name__}: {error}", flush=True)
                        good = False
                    counts[work.name, fault.__name__, good] += 1
    print(f"\nseed {known.seed}\n| fault | " + " | ".join(sorted({name for name, *_ in counts})) + " |")
    for fault in FAULTS:
        row = []
        for name in sorted({name for name, *_ in counts}):
            held, broken = counts[name, fault.__name__, True], counts[name, fault.__name__, False]
            row.append(f"{held} of {held + broken}")
        print(f"| {fault.__name__} | " + " | ".join(row) + " |")
    sys.exit(1 if any(count for (*_, good), count in counts.items() if not good) else 0)


if __name__ == "__main__":
    main()
