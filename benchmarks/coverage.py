"""Measures how often the intervals and sets of classes of a trained model hold the truth.

    python -m benchmarks.coverage [RUN ...]

takes run directories of `pfgnn train` or model folders of `pfgnn fit`. Each model predicts the test part of its data
once. Then 20 random splits divide these graphs into halves: one calibrates, the other measures. No graph of the test
part was used in the training, so the halves are as good as new graphs. Writes results/bench/coverage.json; rows of
other datasets that are there stay.

Without a RUN, three small models are trained first, about two minutes of one core: on ZINC, on molhiv, and on made-up
graphs. They are worse than the models of the docs. Coverage is promised for every model, so small ones do.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pfgnn.data import Dataset, Task, load
from pfgnn.errors import InputError
from pfgnn.experiments.build import load_data, parts
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.coverage import coverage_over_splits
from pfgnn.experiments.fit import FitOptions, Given, fit
from pfgnn.experiments.fit_parts import Shares
from pfgnn.experiments.predict import load_run
from pfgnn.experiments.provenance import provenance
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import RECORD, read_run_config
from pfgnn.files import read_json, write_json
from pfgnn.graphs import Graph
from pfgnn.training.devices import set_threads

OUT = Path("results/bench/coverage.json")
FOLDER = Path("runs/coverage")
ASKED, SPLITS, DRAWS = 0.9, 20, 16
FEW_PARTICLES = ("model.particles=4", "evaluation.particles=4")
ZINC = ("model.width=32", "model.step_layers=2", *FEW_PARTICLES, "training.epochs=5")


def noisy_edges(count: int, seed: int) -> Dataset:
    """Random graphs; the target is the number of edges, with noise that no model can know."""
    random = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(random.integers(4, 10))
        pairs = np.stack(np.triu_indices(n, 1), 1)
        graphs.append(Graph(n, pairs[random.random(len(pairs)) < 0.4]))
    y = np.array([graph.num_edges for graph in graphs]) + random.normal(0, 2, count)
    return Dataset.from_graphs(graphs, y, name="noisy edges")


def fit_noisy(folder: Path, count: int = 2500) -> None:
    """Fit a small model to made-up graphs. Most of them are its test part."""
    changes = {"training.epochs": 4, "model.width": 16, "model.particles": 2, "evaluation.particles": 2}
    options = FitOptions(Shares(0.05, 0.05, 0.8), changes=changes, device="cpu", draws=2)
    fit(Given(noisy_edges(count, 0)), folder, options)


def fit_molhiv(folder: Path) -> None:
    """Fit a small model to molhiv as two classes, as `pfgnn fit` does with one column of 0 and 1."""
    labelled = load("molhiv")
    dataset = replace(labelled, task=Task("graph", 2, "cross_entropy", "accuracy"), y=labelled.y.astype(np.int64))
    changes = {"training.epochs": 1, "model.width": 16, "model.step_layers": 2}
    few = {"model.particles": 4, "evaluation.particles": 4, "evaluation.draws": 1}
    fit(Given(dataset), folder, FitOptions(split="given", changes=changes | few, device="cpu", draws=2))


def _train(config: str, changes: tuple[str, ...], folder: Path) -> None:
    run(read_config(config, changes), folder, device="cpu", resume="last")


MODELS: dict[str, Callable[[Path], None]] = {
    "zinc": partial(_train, "ours/zinc", ZINC),
    "molhiv": fit_molhiv,
    "noisy-edges": fit_noisy,
}


def measure(directory: Path, device: str = "auto") -> dict[str, Any]:
    """The coverage of one model, as a row of the record."""
    trained, config = load_run(directory, device), read_run_config(directory)
    dataset = load_data(config.data, config.model)
    if not config.data.tests:
        raise InputError(f"{directory} must be a run with a test part, but it has none")
    test = parts(config.data, dataset)[config.data.tests[0]]
    graphs = dataset.subset(test)
    assert isinstance(graphs, Dataset)
    splits = coverage_over_splits(trained.outputs(graphs, DRAWS), graphs.y, dataset.task, ASKED, SPLITS)
    columns = {name: np.array([getattr(of, name) for of in splits]) for name in splits[0]._fields}
    return {
        **provenance(trained.devices.device),
        "data": dataset.name,
        "seed": config.seed,
        "graphs": len(test),
        "splits": SPLITS,
        "draws": DRAWS,
        "asked": ASKED,
        "covered": columns["covered"].mean(),
        "std": columns["covered"].std(ddof=1),
        "control": columns["control"].mean(),
        "size": columns["size"].mean(),
        "by_class": columns["by_class"].mean(0).tolist(),
        "loss_before_and_after": columns["loss"].mean(0).tolist(),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(description="Measures the coverage of intervals and sets of classes.")
    parser.add_argument("runs", nargs="*", type=Path, help="run directories; by default three models are trained")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the three models are, or will be")
    given = parser.parse_args(arguments)
    set_threads(None)
    directories = given.runs or [given.folder / name for name in MODELS]
    for directory, train in zip(directories, () if given.runs else MODELS.values(), strict=False):
        if not (directory / RECORD).exists():
            print(f"Training {directory}.", flush=True)
            train(directory)
    rows = {row["data"]: row for row in read_json(OUT)["rows"]} if OUT.exists() else {}
    for directory in directories:
        row = measure(directory)
        rows[row["data"]] = row
        print(
            f"{row['data']}: {100 * ASKED:g} % asked, {100 * row['covered']:.1f} ± {100 * row['std']:.1f} % covered "
            f"over {SPLITS} splits of {row['graphs']} graphs; control {100 * row['control']:.1f} %; "
            f"size {row['size']:.3g}"
        )
    write_json(OUT, {"rows": list(rows.values())})


if __name__ == "__main__":
    main()
