"""Measures the settings that `pfgnn fit` chooses, on small sets of graphs of many kinds.

    python -m benchmarks.fit_settings make
    python -m benchmarks.fit_settings settings --seeds 2 --jobs 4
    python -m benchmarks.fit_settings models --seeds 2 --jobs 4

The first command writes the sets: 1,000 or 4,000 graphs each, drawn from known datasets or made up. It needs RDKit. The
second one trains with one setting changed at a time, and scores the validation part; that is how the settings were
chosen. The third one trains with the settings as they are, and scores the test part, beside simple models.

Both write results/bench/fit-settings.json, and leave out what is there.
"""

import argparse
import csv
import gzip
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from pfgnn.data import Dataset
from pfgnn.data.load import load, places
from pfgnn.experiments.fit import FitOptions, Given, fit
from pfgnn.experiments.fit_baselines import make_baselines, read_scores
from pfgnn.experiments.fit_parts import Shares
from pfgnn.experiments.provenance import provenance
from pfgnn.files import read_json, write_json
from pfgnn.graphs import Graph
from pfgnn.graphs.arrays import IntArray
from pfgnn.training.devices import open_devices, set_threads

OUT = Path("results/bench/fit-settings.json")
FOLDER = Path(".data/fit-settings")
FEW, MANY = 1000, 4000
SHARES = Shares(0.15, 0.0, 0.25)
DEFAULT = "as it is"
# One setting of `fit` changed at a time.
SETTINGS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "ring walks": {"data.ring_walks": 8},
    "width 96": {"model.width": 96},
    "dropout 0.1": {"model.dropout": 0.1},
    "8 layers after the mark": {"model.step_layers": 8},
    "learning rate 0.0005": {"training.learning_rate": 5e-4},
    "weight decay 0.01": {"training.optimiser": "adamw", "training.weight_decay": 0.01},
    "exchange of the mark alone": {"model.exchange": "mark"},
    "half as many epochs": {"training.epochs": 50},
    "twice as many epochs": {"training.epochs": 200},
    "batch norm with running means": {"training.norm_batches": 0},
    "the norm around the mark": {"model.norm": "mark"},
    "linear part": {"model.linear": True, "training.standardise": True},
    "no linear part": {"model.linear": False},
}


class Molecules(NamedTuple):
    """A table of molecules, from which a set is drawn.

    Fields:
        path: The file in the data folder.
        target: Column of the target.
        graphs: How many molecules are drawn.
    """

    path: str
    target: str
    graphs: int = FEW


TABLES = {
    "qm9 gap": Molecules("qm9/qm9.csv.gz", "gap"),
    "qm9 mu": Molecules("qm9/qm9.csv.gz", "mu"),
    "qm9 cv": Molecules("qm9/qm9.csv.gz", "cv"),
    "molhiv": Molecules("molhiv/molhiv_smiles.csv.gz", "HIV_active", MANY),
}


def draw(graphs: int, number: int) -> IntArray:
    """Numbers of the graphs of a set, of all that there are."""
    return np.sort(np.random.default_rng(0).permutation(graphs)[:number])


def read_table(table: Molecules) -> tuple[list[str], np.ndarray]:
    """SMILES and targets of a set. Molecules that RDKit refuses are left out."""
    from rdkit.Chem import MolFromSmiles

    path = next(path for place in places() if (path := place / table.path).exists())
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    drawn = (rows[number] for number in draw(len(rows), table.graphs).tolist())
    chosen = [row for row in drawn if MolFromSmiles(row["smiles"]) is not None]
    y = np.array([float(row[table.target]) for row in chosen])
    return [row["smiles"] for row in chosen], y.astype(np.int64) if table.target == "HIV_active" else y


def four_cycles(count: int) -> Dataset:
    """Random regular graphs of 12 to 24 vertices. The target is the number of cycles of four vertices."""
    import networkx as nx

    random = np.random.default_rng(0)
    graphs, y = [], []
    for _ in range(count):
        n, degree = int(random.integers(6, 13)) * 2, int(random.integers(3, 5))
        made = nx.random_regular_graph(degree, n, seed=int(random.integers(2**31)))
        A = nx.to_numpy_array(made)
        walks = np.trace(np.linalg.matrix_power(A, 4)) - 2 * n * degree**2 + n * degree  # closed walks that are cycles
        graphs.append(Graph(n, np.array(made.edges())))
        y.append(walks / 8)
    return Dataset.from_graphs(graphs, np.array(y), name="four-cycles")


def _of(name: str) -> Dataset:
    dataset = load(name)
    part = dataset.splits["train"]
    return dataset.subset(part[draw(len(part), FEW)])


MADE: dict[str, Callable[[], Dataset]] = {
    "zinc": lambda: _of("zinc"),
    "triangles": lambda: _of("triangles"),
    "exp": lambda: load("exp").subset(np.arange(1200)),
    "four-cycles": lambda: four_cycles(FEW),
}
SETS = (*TABLES, *MADE)


def make(folder: Path) -> None:
    """Write the sets as packed files, and the SMILES of those that have some."""
    for name, table in TABLES.items():
        smiles, y = read_table(table)
        Dataset.from_smiles(smiles, y, name=name).save(folder / f"{name}.pfgnn")
        write_json(folder / f"{name}.json", {"smiles": smiles})
    for name, made in MADE.items():
        made().save(folder / f"{name}.pfgnn")


class Job(NamedTuple):
    """One fit.

    Fields:
        data: Name of the set.
        setting: Name of the changed setting.
        seed: Seed of the parts and of the training.
        tested: Whether the test part is scored, beside simple models; otherwise the validation part.
    """

    data: str
    setting: str
    seed: int
    tested: bool

    @property
    def key(self) -> dict[str, Any]:
        """What tells its row from others."""
        part = "test" if self.tested else "validation"
        return {"data": self.data, "setting": self.setting, "seed": self.seed, "part": part}


def measure(job: Job, folder: Path, device: str) -> dict[str, Any]:
    """The row of a fit."""
    set_threads(None)
    dataset = Dataset.open(folder / f"{job.data}.pfgnn")
    smiles = read_json(folder / f"{job.data}.json")["smiles"] if job.data in TABLES and job.tested else ()
    shares = SHARES if job.tested else Shares(SHARES.validation, SHARES.test, 0.0)  # as many graphs train
    options = FitOptions(shares, seed=job.seed, changes=SETTINGS[job.setting], device=device, draws=1)
    with TemporaryDirectory() as temporary:
        run = Path(temporary) / "model"
        record = fit(Given(dataset, smiles), run, options)
        part = "test" if job.tested else "validation"
        scores = {"ours": record["results"][part]["scores"][dataset.task.metric]}
        if job.tested:
            make_baselines(run, smiles, device)
            scores |= {name: found["scores"][dataset.task.metric] for name, found in read_scores(run).items()}
    return {
        **provenance(open_devices(device).device),
        **job.key,
        "graphs": len(dataset),
        "parameters": record["parameters"],
        "seconds": record["seconds"]["training"],
        "metric": dataset.task.metric,
        "scores": scores,
    }


def read() -> list[dict[str, Any]]:
    """The rows of the record."""
    return list(read_json(OUT)["rows"]) if OUT.exists() else []


def measure_missing(jobs: Sequence[Job], folder: Path, device: str, processes: int) -> None:
    """Measure the jobs that have no row yet, and add their rows to the record as they come."""
    rows = read()
    missing = [job for job in jobs if not any(job.key.items() <= row.items() for row in rows)]
    for row in _measured(missing, folder, device, processes):
        rows.append(row)
        write_json(OUT, {"rows": rows})
        scores = ", ".join(f"{name} {score:.4g}" for name, score in row["scores"].items())
        print(
            f"{row['data']}, {row['setting']}, seed {row['seed']}, {row['part']}: {row['metric']} {scores}", flush=True
        )


def _measured(jobs: Sequence[Job], folder: Path, device: str, processes: int) -> Iterator[dict[str, Any]]:
    if processes == 1:
        yield from (measure(job, folder, device) for job in jobs)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(measure, job, folder, device) for job in jobs]):
            yield done.result()


def table(rows: Sequence[dict[str, Any]], part: str) -> Table:
    """The mean scores by set. The columns are settings for the validation part, and models for the test part."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row["part"] == part:
            scores = row["scores"] if part == "test" else {row["setting"]: row["scores"]["ours"]}
            for name, score in scores.items():
                found.setdefault(f"{row['data']}, {row['metric']}", {}).setdefault(name, []).append(score)
    columns = list(dict.fromkeys(name for scores in found.values() for name in scores))
    shown = Table("set", *columns, title=f"Scores of the {part} part, mean over seeds")
    for name, scores in found.items():
        shown.add_row(name, *(f"{np.mean(scores[column]):.4g}" if column in scores else "" for column in columns))
    return shown


def main(arguments: list[str] | None = None) -> None:
    """Make the sets, or measure and print a table."""
    parser = argparse.ArgumentParser(description="Measures the settings that `pfgnn fit` chooses.")
    parser.add_argument("what", choices=("make", "settings", "models"))
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the sets")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1, help="fits at the same time")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", dest="sets", action="append", choices=SETS, help="only this set; repeatable")
    parser.add_argument("--setting", dest="settings", action="append", choices=SETTINGS, help="only this; repeatable")
    given = parser.parse_args(arguments)
    if given.what == "make":
        make(given.folder)
        return
    tested = given.what == "models"
    settings = [DEFAULT] if tested else given.settings or list(SETTINGS)
    jobs = [
        Job(data, setting, seed, tested)
        for seed, data, setting in product(range(given.seeds), given.sets or SETS, settings)
    ]
    measure_missing(jobs, given.folder, given.device, given.jobs)
    Console().print(table(read(), "test" if tested else "validation"))


if __name__ == "__main__":
    main()
