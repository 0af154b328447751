"""Gives pfgnn wrong inputs, and reports what it must not do with them.

Every input is a valid one with a few changes. It must be accepted, or refused with one sentence: no other exception, no
hang of over 10 seconds, no more than 2 GB of memory, no partly written file. `make fuzz` runs it.
Input N of seed S is always the same, and `python -m reliability.fuzz --seed S --only N` repeats it.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

Target = Callable[[random.Random, Path, Path], bool]

SECONDS, MEMORY = 10, 2 * 2**30
WEIGHTS = {"config_file": 4, "tensors": 4, "exact": 4, "datasets": 3, "packed": 3, "convert": 3}  # others: 1
# A user may ask for a long training, a large model or a large graph to explain. These targets must only stop when told
# to, as by Ctrl-C.
LONG = ("settings", "arguments", "run_files", "explain_run")
LARGE = (*LONG, "exact", "tensors", "parts")  # here an input may also ask for more memory than there is


class Finding(NamedTuple):
    """What went wrong with an input."""

    number: int
    target: str
    what: str


def all_targets() -> dict[str, Target]:
    """The targets by name. Each takes random numbers, the folder of the samples and a folder to write to."""
    from reliability import calls, commands

    return {target.__name__: target for target in (*commands.TARGETS, *calls.TARGETS)}


def try_input(seed: int, number: int, samples: Path) -> tuple[str, bool | None, str | None]:
    """Try one input. Returns the name of its target, whether it was accepted, and what went wrong, if anything."""
    from pfgnn.errors import PFGNNError, is_bug

    targets = all_targets()
    rng = random.Random(f"{seed} {number}")
    name = rng.choices(list(targets), [WEIGHTS.get(name, 1) for name in targets])[0]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    begun = time.monotonic()
    try:
        with contextlib.chdir(folder), interrupted_after(SECONDS / 2 if name in LONG else SECONDS):
            accepted = targets[name](rng, samples, folder)
    except KeyboardInterrupt:
        return name, None, None if name in LONG else f"it took over {SECONDS} seconds"
    except Exception as error:
        if not is_bug(error) and not isinstance(error, PFGNNError | OSError):  # too little memory
            return name, False, None if name in LARGE else f"it took over {MEMORY} bytes: {error}"
        return name, False, traceback.format_exc()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    late = time.monotonic() - begun > SECONDS
    return name, accepted, f"it took over {SECONDS} seconds" if late else None


@contextlib.contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Do as if the user pressed Ctrl-C after some seconds."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def work(seed: int, numbers: Iterator[int], samples: Path, pipe: Connection) -> None:
    """Try inputs in this process, and send the results through the pipe. Its own output is thrown away."""
    with open(os.devnull, "w") as nothing:
        for stream in (1, 2):
            os.dup2(nothing.fileno(), stream)
    all_targets()  # imports torch, before the memory is measured
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for number in numbers:
        pipe.send(number)
        pipe.send(try_input(seed, number, samples))


def fuzz(seed: int, jobs: int, minutes: float, samples: Path) -> tuple[Counter[tuple[str, bool | None]], list[Finding]]:
    """Try inputs for some minutes in several processes. Returns the counts by target and outcome, and the findings."""
    counts: Counter[tuple[str, bool | None]] = Counter()
    findings: list[Finding] = []
    context = multiprocessing.get_context("spawn")
    end = time.monotonic() + 60 * minutes
    first = 0
    workers: dict[Connection, tuple[multiprocessing.process.BaseProcess, list[float]]] = {}

    def start() -> None:
        nonlocal first
        mine, theirs = context.Pipe()
        numbers = range(first, 2**62, 1_000_000)  # no two processes try the same input
        first += 1
        process = context.Process(target=work, args=(seed, numbers, samples, theirs), daemon=True)
        process.start()
        workers[mine] = process, [0, time.monotonic() + 60]  # the number of the input, and when it must be done

    for _ in range(jobs):
        start()
    while time.monotonic() < end:
        for pipe in wait(list(workers), timeout=1):
            assert isinstance(pipe, Connection)
            process, state = workers[pipe]
            try:
                got = pipe.recv()
            except EOFError:
                findings.append(Finding(int(state[0]), "?", "the process died"))
                del workers[pipe]
                start()
                continue
            if isinstance(got, int):
                state[:] = got, time.monotonic() + 2 * SECONDS
                continue
            name, accepted, wrong = got
            counts[name, accepted] += 1
            if wrong is not None:
                findings.append(Finding(int(state[0]), name, wrong))
                print(f"input {int(state[0])}, {name}: {wrong}", flush=True)
        for pipe, (process, state) in list(workers.items()):
            if time.monotonic() > state[1]:
                process.kill()
                findings.append(Finding(int(state[0]), "?", f"it ignored Ctrl-C for {SECONDS} seconds"))
                print(f"input {int(state[0])}: {findings[-1].what}", flush=True)
                del workers[pipe]
                start()
    for process, _ in workers.values():
        process.kill()
    return counts, findings


def main() -> None:
    """Read the options, try inputs, and print a table. Exits with status 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, help="number of the one input to try")
    known = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.environ |= {"TMPDIR": folder, "XDG_CACHE_HOME": f"{folder}/cache", "OMP_NUM_THREADS": "1"}
        tempfile.tempdir = folder
        samples = Path(folder) / "samples"
        samples.mkdir()
        from reliability.samples import write_samples

        write_samples(samples)
        if known.only is not None:
            print(*try_input(known.seed, known.only, samples), sep="\n")
            return
        counts, findings = fuzz(known.seed, known.jobs, known.minutes, samples)
    print(f"\nseed {known.seed}\n| target | accepted | refused | stopped |\n|---|---:|---:|---:|")
    for name in sorted({name for name, _ in counts}):
        print(f"| {name} | {counts[name, True]} | {counts[name, False]} | {counts[name, None]} |")
    print(f"{counts.total()} inputs, {len(findings)} findings")
    for finding in findings:
        lines = finding.what.strip().splitlines()
        print(f"python -m reliability.fuzz --seed {known.seed} --only {finding.number}: {finding.target}: {lines[-1]}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
