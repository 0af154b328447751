"""Seconds from `pfgnn train` to the end of the first update: `python -m benchmarks.first_update CONFIG`.

The command is started several times. The first start on a machine compiles kernels, and later ones find them. Each
start is a process of its own, which ends after the update.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.measure import Record
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json

RESULT = Path("results/bench/first-update.json")
# Runs the command line. After the first update it prints the time since the start, and ends.
CODE = """
import os, sys, time
import torch
from pfgnn.training.loop import Trainer
from pfgnn.cli import main

update = Trainer._update

def first(self, *arguments):
    update(self, *arguments)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    print(time.time() - float(BEGIN), flush=True)
    os._exit(0)

Trainer._update = first
main()
"""


def seconds(config: str, settings: list[str], device: str) -> float:
    """Start `pfgnn train` once, and return the seconds until the first update is done."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", config, "--out", f"{folder}/run", "--device", device]
        words += [word for setting in settings for word in ("--set", setting)]
        code = CODE.replace("BEGIN", repr(time.time()))
        done = subprocess.run([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def measure(config: str, settings: list[str], device: str, times: int) -> Record:
    """Start the command several times. The first time is told apart from the median of the others."""
    first, *others = (seconds(config, settings, device) for _ in range(times))
    return {
        **provenance(torch.device(device)),
        "config": config,
        "settings": settings,
        "first start seconds": first,
        "later starts seconds": others,
        "median seconds": statistics.median(others),
    }


def main() -> None:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="config file, as for pfgnn train")
    parser.add_argument("--set", action="append", default=[], help="change a setting; repeatable")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--out", type=Path, default=RESULT)
    known = parser.parse_args()
    found = measure(known.config, known.set, known.device, known.times)
    write_json(known.out, found)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
