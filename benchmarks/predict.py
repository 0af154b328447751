"""`pfgnn predict` on a large table, and one molecule from Python, on a CPU: `python -m benchmarks.predict --rows N`.

The table repeats the SMILES of molhiv. The model is tiny (K = 4, two draws), so that most of the time goes into reading
molecules. The table is predicted twice, at first a tenth of it: the peak memory must not depend on the number of rows.

One molecule is predicted with the model of the config ours/zinc and K = 16, on one thread.
"""

import argparse
import gzip
import itertools
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from pfgnn.data import Dataset
from pfgnn.data.load import places
from pfgnn.data.task import Task
from pfgnn.experiments.config import Config, DataConfig, EvaluationConfig, ModelConfig, TrainingConfig
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.predict import load_run
from pfgnn.experiments.provenance import provenance
from pfgnn.experiments.run import run
from pfgnn.files import write_json
from pfgnn.workers import available_cores

RESULT = Path("results/bench/predict.json")
ZINC = "ours/zinc"
MOLECULE = "COc1ccc2ccc(O)c(CN3CCN(S(=O)(=O)c4ccn(C)c4)CC3)c2c1"  # the first of ZINC: 29 atoms
TRAINED_ON = ["CCO", "c1ccccc1", "CC(=O)O", MOLECULE]  # what the model has learnt does not matter here
DRAWS, PARTICLES = 2, 4  # of the large table
PAUSE = 0.2  # seconds between two looks at the memory

Record = dict[str, Any]


def train(folder: Path, features: str, task: Task, config: Callable[[Path], Config]) -> Path:
    """Train a model for a few updates on a few molecules. Returns the run directory.

    Args:
        folder: Folder for the data and the run.
        features: Features of the molecules.
        task: Task of the run.
        config: Returns the config, given the packed file.
    """
    parts = {part: range(len(TRAINED_ON)) for part in ("train", "validation", "test")}
    y = [[number % 2] for number in range(len(TRAINED_ON))]
    Dataset.from_smiles(TRAINED_ON, y, features, task, splits=parts).save(folder / f"{features}.pfgnn")
    run(config(folder / f"{features}.pfgnn"), folder / features, device="cpu")
    return folder / features


def tiny(data: Path) -> Config:
    """The config of the large table."""
    return Config(
        DataConfig(str(data)),
        ModelConfig(backbone="gine", width=16, layers=1, step_layers=1, particles=PARTICLES),
        TrainingConfig(epochs=None, updates=2),
        EvaluationConfig(batch_size=256),
    )


def like_zinc(data: Path) -> Config:
    """The config of our method on ZINC, with K = 16 and two updates."""
    changes = ["training.epochs=null", "training.updates=2", "model.particles=16", "evaluation.particles=16"]
    return read_config(ZINC, [f"data.name={data}", *changes])


def write_table(path: Path, rows: int) -> None:
    """Write a table of molecules: those of molhiv, again and again."""
    with gzip.open(places()[0] / "molhiv" / "molhiv_smiles.csv.gz", "rt") as file:
        header, *lines = file
    with path.open("w") as table:
        table.write(header)
        table.writelines(itertools.islice(itertools.cycle(lines), rows))


def processes_of(pid: int) -> Iterator[int]:
    """A process and all that it has started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield from processes_of(int(child))


def memory(pid: int) -> int:
    """Bytes of memory of a process and all that it has started. Memory that several share counts once."""
    total = 0
    try:
        for one in processes_of(pid):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except OSError:  # a process has just ended
        return 0
    return total


def predict_table(directory: Path, folder: Path, rows: int) -> Record:
    """Predict a table as a user does: rows a second, peak memory over all processes, CPU seconds."""
    source, out = folder / "molecules.csv", folder / "out.csv"
    write_table(source, rows)
    options = ["--out", str(out), "--draws", str(DRAWS), "--on-error", "skip", "--device", "cpu"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pfgnn", "predict", str(directory), str(source), *options], stdout=subprocess.DEVNULL
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        time.sleep(PAUSE)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    with out.open() as file:
        written = sum(1 for _ in file) - 1
    if process.returncode or written != rows:
        raise RuntimeError(f"the table must have {rows} rows, but it has {written} (status {process.returncode})")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "rows": rows,
        "seconds": seconds,
        "CPU seconds": cpu,
        "rows a second": rows / seconds,
        "peak MiB of all processes": peak / 2**20,
    }


def predict_one(directory: Path, calls: int) -> Record:
    """Milliseconds to predict one molecule from Python, after a first call."""
    begun = time.perf_counter()
    trained = load_run(directory, "cpu")
    loaded = time.perf_counter()
    trained.predict([MOLECULE], draws=1)
    found: Record = {"load ms": 1000 * (loaded - begun), "first call ms": 1000 * (time.perf_counter() - loaded)}
    for draws in (1, 16):
        wall, cpu = [], []
        for _ in range(calls):
            first, of_process = time.perf_counter(), time.process_time()
            trained.predict([MOLECULE], draws=draws)
            wall.append(1000 * (time.perf_counter() - first))
            cpu.append(1000 * (time.process_time() - of_process))
        found[f"{draws} draws"] = {"median ms": statistics.median(wall), "median CPU ms": statistics.median(cpu)}
    return {**found, "calls": calls, "K": trained.config.evaluation.particles, "atoms": 29}


def measure(rows: int, calls: int, out: Path, console: Console) -> None:
    """Measure, print, and write the record.

    Args:
        rows: Rows of the large table.
        calls: Calls whose median is taken.
        out: File of the record.
        console: Where to print.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = predict_one(train(folder, "zinc", Task("graph", 1, "l1", "mae"), like_zinc), calls)
        labels = Task("graph", 1, "binary_cross_entropy", "roc_auc")
        directory = train(folder, "ogb", labels, tiny)
        tables = [predict_table(directory, folder, count) for count in (rows // 10, rows)]
    record = {
        **provenance(torch.device("cpu")),
        "cores": available_cores(),
        "table": {"K": PARTICLES, "draws": DRAWS, "runs": tables},
        "one molecule": one,
    }
    write_json(out, record)
    table = Table("what", "measured")
    for of in tables:
        said = f"{of['rows a second']:.0f} rows a second, {of['peak MiB of all processes']:.0f} MiB at most"
        table.add_row(f"table of {of['rows']} molecules", said)
    for draws in (1, 16):
        found = one[f"{draws} draws"]
        said = f"{found['median ms']:.1f} ms ({found['median CPU ms']:.1f} ms of CPU)"
        table.add_row(f"one molecule, K = {one['K']}, {draws} draws", said)
    console.print(table)


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table")
    parser.add_argument("--calls", type=int, default=100, help="calls for one molecule")
    parser.add_argument("--out", type=Path, default=RESULT, help="file of the record")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    measure(arguments.rows, arguments.calls, arguments.out, Console())


if __name__ == "__main__":
    main()
