"""Predictions of a finished run for new graphs, each with its Monte Carlo standard error."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pfgnn.arguments import check_positive
from pfgnn.data import Dataset
from pfgnn.data.encodings import ring_walk_columns
from pfgnn.data.loader import Resident
from pfgnn.data.molecules import FEATURES
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.build import Inputs, adapt
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.run import load_weights
from pfgnn.experiments.run_directory import CONFIG, read_record
from pfgnn.files import write_atomically
from pfgnn.graphs.graph6 import read_graph6
from pfgnn.training.checkpoint import BEST, LAST, read_checkpoint
from pfgnn.training.devices import make_fabric
from pfgnn.training.evaluate import Draws, Forward, predict

CLASS_LOSSES = ("cross_entropy", "weighted_cross_entropy")


class Predictions(NamedTuple):
    """Of R graphs, or nodes: ``mean`` over the draws and its ``error`` [R, C], by ``names`` [C]; ``where`` [R, 1 or 2]
    numbers the graph, and at node level the node within it.
    """

    mean: Tensor
    error: Tensor
    names: Sequence[str]
    where: Tensor

    def write(self, path: Path) -> None:
        """Write a CSV table: graph (and node), then each output with its standard error."""
        places = ["graph", "node"][: self.where.shape[1]]
        columns = [column for name in self.names for column in (name, f"{name} standard error")]
        values = torch.stack([self.mean, self.error], -1).flatten(1)

        def fill(temporary: Path) -> None:
            with temporary.open("w", newline="") as file:
                table = csv.writer(file)
                table.writerow([*places, *columns])
                for place, row in zip(self.where.tolist(), values.tolist(), strict=True):
                    table.writerow([*place, *(f"{value:.7g}" for value in row)])

        write_atomically(path, fill)


def predict_run(
    directory: Path,
    path: Path,
    *,
    draws: int = 16,
    particles: int | None = None,
    smiles_column: str = "smiles",
    device: str = "auto",
) -> Predictions:
    """Predict the graphs of a file with a finished run's model.

    Classes come as probabilities, regression targets in their own units; both are means over independent draws.

    Args:
        directory: the run's.
        path: graph6 or sparse6 (.g6, .s6), molecules (.csv with a column of SMILES), or a packed dataset (.pfgnn).
        draws: R ≥ 2; the standard error is the draws' deviation over √R.
        particles: K; as the run was tested by default.
        smiles_column: of a CSV file.
        device: "cpu", "cuda" or "auto".
    """
    if check_positive("draws", draws) < 2:
        raise InputError("draws must be at least 2, for a standard error needs two draws, but it is 1")
    record, config = read_record(directory), read_config(directory / CONFIG)
    identity = read_checkpoint(directory / (BEST if record["selected"] == "best" else LAST)).state["identity"]
    inputs = Inputs.from_json(identity["inputs"])
    encoded = config.data.random_walks + ring_walk_columns(config.data.ring_walks)
    dataset = adapt(read_graphs(path, inputs, smiles_column, encoded), config.data, config.model)
    check_features(path, inputs, dataset)
    fabric = make_fabric(device, config.training.precision)
    model, scaler = load_weights(directory, record["selected"])
    model.to(fabric.device)
    K = config.evaluation.particles if particles is None else check_positive("particles", particles)
    how = Draws(config.seed, draws, batch_size=config.evaluation.batch_size or config.training.batch_size)
    data, graphs = Resident(dataset, fabric.device), np.arange(len(dataset))
    forward = Forward(model, fabric, K)
    outputs = torch.stack([predict(forward, data, graphs, how, number) for number in range(draws)]).double()
    if inputs.task.loss in CLASS_LOSSES:
        outputs = outputs.softmax(-1)
    elif inputs.task.loss == "binary_cross_entropy":
        outputs = outputs.sigmoid()
    elif scaler is not None:
        outputs = scaler.unscale(outputs)
    return Predictions(outputs.mean(0), outputs.std(0) / draws**0.5, _names(inputs.task), _places(dataset))


def read_graphs(path: Path, inputs: Inputs, smiles_column: str, encoded: int = 0) -> Dataset:
    """The graphs of a file as a dataset with the features that the model reads, before encodings are appended.

    Its targets mean nothing.
    """
    if path.suffix == ".pfgnn":
        dataset = Dataset.open(path)
        level, found = ("node" if task.level == "node" else "graph" for task in (inputs.task, dataset.task))
        if level != found:
            raise InputError(f"{path} must be of the {level} level, as the run is, but it is of the {found} level")
    elif path.suffix in (".g6", ".s6"):
        graphs = read_graph6(path)
        if not graphs:
            raise InputError(f"{path} holds no graphs, but must have one a line")
        rows = sum(graph.num_nodes for graph in graphs) if inputs.task.level == "node" else len(graphs)
        dataset = Dataset.from_graphs(graphs, np.zeros((rows, 1), dtype=np.int64), inputs.task)
    elif path.suffix == ".csv":
        smiles = _column(path, smiles_column)
        dataset = Dataset.from_smiles(smiles, np.zeros(len(smiles)), _features(inputs, encoded), inputs.task)
    else:
        raise InputError(f"{path} must end in .g6, .s6, .csv or .pfgnn to say what it holds, not in {path.suffix!r}")
    return dataset


def check_features(path: Path, inputs: Inputs, dataset: Dataset) -> None:
    """A sentence, if a file's graphs do not have the features that the run was trained on."""
    for name, want, came in (
        ("node", inputs.in_channels, dataset.in_channels),
        ("edge", inputs.edge_channels, dataset.edge_channels),
    ):
        if want != came:
            raise InputError(
                f"{path} must have the {name} features that the run was trained on, {want}, but has {came}"
            )


def _column(path: Path, name: str) -> list[str]:
    try:
        with path.open(newline="") as file:
            table = csv.DictReader(file)
            columns = table.fieldnames or ()
            rows = [(table.line_num, row.get(name)) for row in table]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a CSV table: {error}") from None
    if name not in columns:
        raise InputError(f"{path} must have a column {name}, but its columns are {', '.join(columns) or 'none'}")
    if not rows:
        raise InputError(f"{path} holds no molecules, but must have one a line")
    molecules = []
    for line, molecule in rows:
        if molecule is None:  # the line ends before its column
            raise InputError(f"{path} must have a molecule in each line, but line {line} has none")
        molecules.append(molecule)
    return molecules


def _features(inputs: Inputs, encoded: int) -> str:
    """The kind of features that the run was trained on, with so many columns of encodings after them."""
    for name, features in FEATURES.items():
        # Encodings make one-hot columns of the categories.
        channels = sum(features.node_categories) + encoded if encoded else features.node_categories
        if channels == inputs.in_channels:
            return name
    raise InputError("the run was not trained on features of molecules, so it cannot predict from SMILES")


def _names(task: Task) -> list[str]:
    if task.loss in CLASS_LOSSES:
        return [f"class {c}" for c in range(task.outputs)]
    return list(task.targets) or ["prediction" if task.outputs == 1 else f"output {c}" for c in range(task.outputs)]


def _places(dataset: Dataset) -> Tensor:
    if dataset.task.level != "node":
        return torch.arange(len(dataset))[:, None]
    counts = torch.from_numpy(dataset.node_counts.astype(np.int64))
    graph = torch.arange(len(dataset)).repeat_interleave(counts)
    return torch.stack([graph, torch.arange(len(graph)) - (counts.cumsum(0) - counts)[graph]], 1)
