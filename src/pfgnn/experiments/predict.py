"""Predict new graphs with the model of a finished run. Each prediction has a Monte Carlo standard error."""

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
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError
from pfgnn.experiments.build import Inputs, adapt
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.run import load_weights
from pfgnn.experiments.run_directory import CONFIG, read_record
from pfgnn.files import write_atomically
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.graph6 import read_graph6
from pfgnn.training.checkpoint import BEST, LAST, read_checkpoint
from pfgnn.training.devices import make_fabric
from pfgnn.training.evaluate import Draws, Forward, predict


class Predictions(NamedTuple):
    """The predictions of some graphs, with one row for each graph, or for each node at node level.

    Fields:
        mean: Mean of the predictions over the draws, [rows, C].
        error: Standard error of the mean, [rows, C].
        names: Names of the C outputs.
        where: Number of the graph, [rows, 1]. At node level also the number of the node in its graph, [rows, 2].
    """

    mean: Tensor
    error: Tensor
    names: Sequence[str]
    where: Tensor

    def write(self, path: Path) -> None:
        """Write a CSV table. Its columns are the graph (and node), and each output with its standard error."""
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
    """Predict the graphs of a file with the model of a finished run.

    Classes are predicted as probabilities, regression targets in their own units. Each prediction is a mean over
    independent draws.

    Args:
        directory: The run directory.
        path: File of the graphs: graph6 or sparse6 (.g6, .s6), SMILES (.csv), or a packed dataset (.pfgnn).
        draws: R ≥ 2, number of draws. The standard error is the standard deviation of the draws divided by √R.
        particles: K; None for ``evaluation.particles`` of the run.
        smiles_column: Name of the column of SMILES in a CSV file.
        device: "cpu", "cuda" or "auto".
    """
    if check_positive("draws", draws) < 2:
        raise InputError("draws must be at least 2 for a standard error, but it is 1")
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
    """Read the graphs of a file as a dataset, before encodings are appended.

    The targets are placeholders, except those of a packed dataset.

    Args:
        path: See :func:`predict_run`.
        inputs: Features and task of the run.
        smiles_column: Name of the column of SMILES in a CSV file.
        encoded: Number of columns of encodings in the run's node features.
    """
    if path.suffix == ".pfgnn":
        dataset = Dataset.open(path)
        level, found = ("node" if task.level == "node" else "graph" for task in (inputs.task, dataset.task))
        if level != found:
            raise InputError(f"{path} must have a task at {level} level, as the run has, but it is at {found} level")
    elif path.suffix in (".g6", ".s6"):
        graphs = read_graph6(path)
        if not graphs:
            raise InputError(f"{path} must hold one graph per line, but it holds no graph")
        rows = sum(graph.num_nodes for graph in graphs) if inputs.task.level == "node" else len(graphs)
        dataset = Dataset.from_graphs(graphs, _no_targets(inputs.task, rows), inputs.task)
    elif path.suffix == ".csv":
        smiles = _column(path, smiles_column)
        y = _no_targets(inputs.task, len(smiles))
        dataset = Dataset.from_smiles(smiles, y, _features(inputs, encoded), inputs.task)
    else:
        raise InputError(f"{path} must end in one of .g6, .s6, .csv, .pfgnn, but it ends in {path.suffix!r}")
    return dataset


def check_features(path: Path, inputs: Inputs, dataset: Dataset) -> None:
    """Raise an InputError if the graphs of a file do not have the features that the run was trained on.

    Args:
        path: The file, for the message.
        inputs: Features of the run.
        dataset: The graphs of the file, with encodings.
    """
    for name, want, came in (
        ("node", inputs.in_channels, dataset.in_channels),
        ("edge", inputs.edge_channels, dataset.edge_channels),
    ):
        if want != came:
            raise InputError(
                f"{path} must have the {name} features that the run was trained on, {want}, but it has {came}"
            )


def _column(path: Path, name: str) -> list[str]:
    """The values of a column of a CSV file."""
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
        raise InputError(f"{path} must hold one molecule per line, but it holds no molecule")
    molecules = []
    for line, molecule in rows:
        if molecule is None:  # the line has too few columns
            raise InputError(f"{path} must hold one molecule per line, but line {line} has none")
        molecules.append(molecule)
    return molecules


def _features(inputs: Inputs, encoded: int) -> str:
    """The name of the molecule features that the run was trained on.

    Args:
        inputs: Features of the run.
        encoded: Number of columns of encodings after them.
    """
    for name, features in FEATURES.items():
        # With encodings, the categories are stored as one-hot columns.
        channels = sum(features.node_categories) + encoded if encoded else features.node_categories
        if channels == inputs.in_channels:
            return name
    raise InputError("the run must be trained on features of molecules to predict from SMILES, but it is not")


def _no_targets(task: Task, rows: int) -> IntArray:
    """Placeholders for the targets of new graphs."""
    return np.zeros((rows, 1 if task.loss in CLASS_LOSSES else task.outputs), dtype=np.int64)


def _names(task: Task) -> list[str]:
    """A name for each output of a task."""
    if task.loss in CLASS_LOSSES:
        return [f"class {c}" for c in range(task.outputs)]
    return list(task.targets) or ["prediction" if task.outputs == 1 else f"output {c}" for c in range(task.outputs)]


def _places(dataset: Dataset) -> Tensor:
    """The field ``where`` of :class:`Predictions`."""
    if dataset.task.level != "node":
        return torch.arange(len(dataset))[:, None]
    counts = torch.from_numpy(dataset.node_counts.astype(np.int64))
    graph = torch.arange(len(dataset)).repeat_interleave(counts)
    return torch.stack([graph, torch.arange(len(graph)) - (counts.cumsum(0) - counts)[graph]], 1)
