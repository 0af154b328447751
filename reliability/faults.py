"""Lets the machine fail while pfgnn works: kills it, fills the disk, forbids to write, sets the clock back.

After each fault the command is given again. Then every result must be the same, bit for bit, as without the fault.
Until then each output file is either missing or whole. `make faults` runs it and prints a table.
"""

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from pfgnn.cli.app import main as run_command
from pfgnn.data import Dataset
from pfgnn.experiments import tables
from pfgnn.experiments.rows import MAE, TableSpec, make_row
from pfgnn.graphs import csl, to_graph6
from reliability.samples import CONFIG, write_samples

Prepare = Callable[[], object]
KILLED = -signal.SIGKILL
# A table of three short runs, for `pfgnn reproduce`.
TINY = TableSpec("tiny", (make_row("tiny", "tiny", ("training.updates=12",), MAE, seeds=3),))


@dataclass(frozen=True)
class Work:
    """A command and its results.

    Args:
        name: Its name in the table.
        command: The arguments, given the folder to write to.
        again: The arguments that go on after a fault.
        results: What must not depend on faults, given the folder; None if the command has not finished.
        outputs: Files that are missing or whole at any time, relative to the folder.
    """

    name: str
    command: Callable[[Path], list[object]]
    again: Callable[[Path], list[object]]
    results: Callable[[Path], Any]
    outputs: tuple[str, ...]


def works(samples: Path) -> Iterator[Work]:
    """The commands that write files, each about a second long."""

    def train(folder: Path) -> list[object]:
        return ["train", samples / "long.yaml", "--out", folder / "run", "--device", "cpu"]

    def reproduce(folder: Path) -> list[object]:
        places = ["--results", folder / "results", "--runs", folder / "runs", "--configs", samples]
        return ["reproduce", "tiny", *places, "--device", "cpu"]

    def convert(folder: Path) -> list[object]:
        return ["data", "convert", samples / "many.g6", folder / "out.pfgnn", "--labels", samples / "many.txt"]

    def predict(folder: Path) -> list[object]:
        out = ["--out", folder / "out.csv", "--device", "cpu"]
        return ["predict", samples / "run", samples / "graphs.g6", "--draws", 200, *out]

    yield Work("train", train, lambda folder: [*train(folder), "--resume"], _run_results, ("run/record.json",))
    yield Work("reproduce", reproduce, reproduce, _table_results, ("results/tiny/tiny.json",))
    yield Work("convert", convert, convert, lambda folder: _bytes(folder / "out.pfgnn"), ("out.pfgnn",))
    yield Work("predict", predict, predict, lambda folder: _bytes(folder / "out.csv"), ("out.csv",))


def write_inputs(samples: Path) -> None:
    """Write what the commands read."""
    write_samples(samples)
    config = CONFIG.replace("own.pfgnn", str(samples / "own.pfgnn"))
    (samples / "tiny.yaml").write_text(config)
    (samples / "long.yaml").write_text(config.replace("updates: 3", "updates: 60\n  checkpoint_every: 3"))
    (samples / "many.g6").write_text(f"{to_graph6(csl(41, 3))}\n" * 20_000)
    (samples / "many.txt").write_text("".join(f"{number % 2}\n" for number in range(20_000)))


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
        """Raise unless the command refused with one sentence."""
        said = self.said()
        if status != 2 or "Traceback" in said or "bug" in said or "pfgnn:" not in said:
            raise AssertionError(f"status {status}: {said}")

    def check_same(self) -> None:
        """Give the command again without a fault, and raise unless its results are as expected."""
        if self.work.results(self.folder) is None:
            status = finish(start(self.work.again(self.folder), self.log))
            if status:
                raise AssertionError(f"status {status}: {self.said()}")
        if not _equal(self.work.results(self.folder), self.expected):
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
    if status and not (trial.work.name == "reproduce" and status == 1):
        trial.check_sentence(status)


def read_only(trial: Trial, rng: random.Random, seconds: float) -> None:
    """The folder may not be written to."""

    def prepare() -> None:
        if os.geteuid() == 0:  # root may write everywhere
            os.setegid(65534)
            os.seteuid(65534)

    trial.folder.chmod(0o555)
    status = finish(start(trial.work.command(trial.folder), trial.log, prepare))
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
    if status and not (trial.work.name == "reproduce" and status == 1):
        trial.check_sentence(status)


FAULTS = {kill: 50, full_disk: 5, read_only: 1, clock_back: 2, two_writers: 5, out_of_memory: 3}  # times each


def through_pipe(arguments: list[object], prepare: Prepare) -> tuple[int, str]:
    """Run a command whose output goes through a pipe. Returns its exit status and its output."""
    end, begin = os.pipe()

    def redirect() -> None:
        os.dup2(begin, 1)
        os.dup2(begin, 2)
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


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _run_results(folder: Path, run: str = "run") -> Any:
    """The record without times, and the weights."""
    if not (folder / run / "record.json").exists():
        return None
    record = json.loads((folder / run / "record.json").read_text())
    weights = {name: load_file(folder / run / f"{name}.safetensors") for name in ("best", "last")}
    return {key: record[key] for key in ("results", "pairs", "updates", "selected", "seed")}, weights


def _table_results(folder: Path) -> Any:
    """The records of the table without times."""
    path = folder / "results" / "tiny" / "tiny.json"
    if not path.exists():
        return None
    runs = json.loads(path.read_text())["runs"]
    kept = sorted((run["seed"], json.dumps(run["results"])) for run in runs)
    return kept if len(kept) == TINY.rows[0].seeds else None


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


if __name__ == "__main__":
    main()
