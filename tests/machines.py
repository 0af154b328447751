"""Runs the whole suite as other machines would: with other instruction sets, another MKL and other threads.

A program of its own; `make machines` calls it. Every run has a random order. Its name and its seed are printed first.
"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import time
from typing import NamedTuple

NAMES = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "OMP_NUM_THREADS")
# Any two settings meet in one of the ways. None stands for what the machine does by itself.
WAYS: tuple[tuple[str | None, str | None, str], ...] = (
    (None, None, "1"),
    ("default", "COMPATIBLE", "1"),
    ("avx2", "COMPATIBLE", "2"),
    (None, "COMPATIBLE", "2"),
    ("default", None, "2"),
    ("avx2", None, "1"),
)


class Run(NamedTuple):
    """One run of the suite: its settings by name, and what pytest is told."""

    settings: dict[str, str | None]
    arguments: list[str]

    @property
    def name(self) -> str:
        capability, mkl, threads = (self.settings[name] for name in NAMES)
        return f"{capability or 'native'}, MKL {mkl or 'as it is'}, threads: {threads}"

    @property
    def command(self) -> str:
        """What repeats the run in a shell."""
        unset = [f"-u {name}" for name, value in self.settings.items() if value is None]
        values = [f"{name}={value}" for name, value in self.settings.items() if value is not None]
        return " ".join(["env", *unset, *values, sys.executable, "-m", "pytest", shlex.join(self.arguments)])

    def passes(self) -> bool:
        """Run it; its output goes where this program's goes."""
        environment = {name: value for name, value in os.environ.items() if name not in self.settings}
        environment |= {name: value for name, value in self.settings.items() if value is not None}
        done = subprocess.run([sys.executable, "-m", "pytest", *self.arguments], env=environment, check=False)
        return done.returncode == 0


def make_runs(rounds: int, seed: int, arguments: list[str]) -> list[Run]:
    """All ways, so many times; each run has a seed of its own, which follows from the first."""
    passive: dict[str, str | None] = {"OMP_WAIT_POLICY": "PASSIVE"}  # waiting threads sleep: far faster on busy cores
    ways = [dict(zip(NAMES, way, strict=True)) | passive for way in WAYS * rounds]
    return [Run(way, ["--shuffle", "--seed", str(seed + number), *arguments]) for number, way in enumerate(ways)]


def main() -> None:
    """Run all of them, then say which failed and how to repeat those."""
    parser = argparse.ArgumentParser(description=__doc__, usage="python -m tests.machines [options] [pytest's options]")
    parser.add_argument("--rounds", type=int, default=3, help="how often each way is run")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31), help="of the first run")
    known, arguments = parser.parse_known_args()  # what is not known is for pytest
    runs = make_runs(known.rounds, known.seed, arguments)
    failed = []
    for number, run in enumerate(runs, start=1):
        print(f"\n{number} of {len(runs)}: {run.name}\n{run.command}", flush=True)
        begun = time.monotonic()
        passed = run.passes()
        print(f"{'passed' if passed else 'FAILED'} in {time.monotonic() - begun:.0f} s: {run.name}", flush=True)
        if not passed:
            failed.append(run)
    for run in failed:
        print(f"\nFAILED: {run.name}\nRepeat it with:\n{run.command}")
    print(f"\n{len(runs) - len(failed)} of {len(runs)} runs passed.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
