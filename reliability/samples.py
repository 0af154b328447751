"""Valid inputs, small enough to be read in milliseconds: a file of each format, and a finished run."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np

from pfgnn.data import Dataset
from pfgnn.experiments.bundle import write_bundle
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.fit import FitOptions, Given, fit
from pfgnn.experiments.run import run
from pfgnn.graphs import csl, random_graph, to_graph6, to_sparse6

# The smallest training that still uses every file of a run directory.
CONFIG = """\
data:
  name: own.pfgnn
model:
  backbone: gin
  width: 8
  layers: 1
  particles: 2
training:
  epochs: null
  updates: 3
  batch_size: 4
evaluation:
  draws: 2
"""
# Options of the smallest fit.
SMALL = ("training.epochs=null", "training.updates=2", "model.width=8", "model.particles=2")
SMALL_FIT = ("--no-report", "--device", "cpu", *(word for setting in SMALL for word in ("--set", setting)))
MOLECULES = ("CCO", "c1ccccc1", "CC(=O)O", "C1CC1", "CN", "CCCl", "O", "C#N")


def write_samples(folder: Path) -> None:
    """Write all samples into a folder."""
    graphs = [csl(7, 2), csl(9, 3), *(random_graph(6, 7, np.random.default_rng(seed)) for seed in range(6))]
    labels = [float(number % 2) for number in range(len(graphs))]
    (folder / "graphs.g6").write_text("".join(f"{to_graph6(graph)}\n" for graph in graphs))
    (folder / "graphs.s6").write_text("".join(f"{to_sparse6(graph)}\n" for graph in graphs))
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in labels))
    rows = [{"num_nodes": g.num_nodes, "edges": g.edges.tolist(), "y": y} for g, y in zip(graphs, labels, strict=True)]
    for row in rows:
        row |= {"x": [[node % 3] for node in range(row["num_nodes"])], "edge_attr": [[1.5] for _ in row["edges"]]}
    (folder / "graphs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    table = [f"m{number},{smiles},{number * 0.5}" for number, smiles in enumerate(MOLECULES)]
    (folder / "table.csv").write_text("\n".join(["id,smiles,y", *table]) + "\n")
    (folder / "molecules.smi").write_text("".join(f"{smiles} m{i}\n" for i, smiles in enumerate(MOLECULES)))
    for name in ("graphs.g6", "graphs.jsonl", "table.csv"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes(), mtime=0))
    _write_tu(folder / "TU")
    splits = {"train": [0, 1, 2, 3], "validation": [4, 5], "test": [6, 7]}
    Dataset.from_graphs(graphs, labels, splits={name: np.array(part) for name, part in splits.items()}).save(
        folder / "own.pfgnn"
    )
    (folder / "config.yaml").write_text(CONFIG.replace("own.pfgnn", str(folder / "own.pfgnn")))
    run(read_config(folder / "config.yaml"), folder / "run", device="cpu")
    _write_bundle(folder)
    molecules = Given(Dataset.from_smiles(MOLECULES, np.arange(len(MOLECULES)) * 0.5))
    fit(molecules, folder / "model", FitOptions(overrides=SMALL, device="cpu", draws=2))


def _write_bundle(folder: Path) -> None:
    """A bundle with a finished run, one to go on with, and records."""
    row, results = folder / "runs" / "table2" / "gin", Path(__file__).parents[1] / "results"
    for fold in (0, 1):
        shutil.copytree(folder / "run", row / f"seed0-fold{fold}")
    (row / "seed0-fold1" / "record.json").unlink()
    write_bundle(folder / "bundle.zip", ["table2"], runs=folder / "runs", results=results)


def _write_tu(folder: Path) -> None:
    """Two triangles in the text format of the TU collection."""
    folder.mkdir()
    files = {
        "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n5, 6\n6, 5\n4, 6\n6, 4\n",
        "graph_indicator": "1\n1\n1\n2\n2\n2\n",
        "graph_labels": "0\n1\n",
        "node_labels": "0\n1\n0\n2\n1\n0\n",
    }
    for name, text in files.items():
        (folder / f"TU_{name}.txt").write_text(text)
