"""Predict new graphs with the model of a finished run. Each prediction has a Monte Carlo standard error."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pfgnn.data import Dataset
from pfgnn.data.encodings import ring_walk_columns
from pfgnn.data.loader import Resident
from pfgnn.data.molecules import FEATURES
from pfgnn.data.table_file import SMILES, TABLES, read_table_file
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError, shown
from pfgnn.experiments.build import Inputs, adapt
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.prediction_table import Columns, Predictions, check_names, output_names
from pfgnn.experiments.run import load_weights
from pfgnn.experiments.run_directory import CONFIG, read_record
from pfgnn.files import ending, reading
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.graph6 import read_graph6
from pfgnn.setting_types import check_draws
from pfgnn.training.checkpoint_file import BEST, LAST, read_checkpoint
from pfgnn.training.devices import make_fabric
from pfgnn.training.evaluate import Draws, Forward, predict
from pfgnn.training.seeds import prediction_seed


def predict_run(
    directory: Path,
    path: Path,
    *,
    draws: int = 16,
    particles: int | None = None,
    smiles_column: str = "smiles",
    device: str = "auto",
    progress: Callable[[int], None] = lambda done: None,
) -> Predictions:
    """Predict the graphs of a file with the model of a finished run.

    Classes are predicted as probabilities, regression targets in their own units. Each prediction is a mean over
    independent draws.

    Args:
        directory: The run directory.
        path: File of the graphs: graph6 or sparse6 (.g6, .s6), a table with SMILES (.csv, .tsv), SMILES (.smi), or a
            packed dataset (.pfgnn). All but the last may be gzipped.
        draws: R ≥ 2, number of draws. The Monte Carlo standard error is the standard deviation of the draws divided by
            √R.
        particles: K; None for ``evaluation.particles`` of the run.
        smiles_column: Name of the column of SMILES in a CSV file.
        device: "cpu", "cuda" or "auto".
        progress: Called after each draw with the number of draws done.
    """
    check_draws(draws, particles)
    record, config = read_record(directory), read_config(directory / CONFIG)
    checkpoint = directory / (BEST if record["selected"] == "best" else LAST)
    with reading(checkpoint, "be the checkpoint of a run"):
        inputs = Inputs.from_json(read_checkpoint(checkpoint).state["identity"]["inputs"])
    encoded = config.data.random_walks + ring_walk_columns(config.data.ring_walks)
    read, carried = read_graphs(path, inputs, smiles_column, encoded)
    names = output_names(inputs.task)
    check_names(path, carried, names)
    dataset = adapt(read, config.data, config.model)
    check_features(path, inputs, dataset)
    fabric = make_fabric(device, config.training.precision)
    model, scaler = load_weights(directory, record["selected"])
    model.to(fabric.device)
    K = config.evaluation.particles if particles is None else particles
    how = Draws(
        prediction_seed(config.seed), draws, batch_size=config.evaluation.batch_size or config.training.batch_size
    )
    data, graphs = Resident(dataset, fabric.device), np.arange(len(dataset))
    forward = Forward(model, fabric, K)
    mean, squares = torch.zeros(()), torch.zeros(())  # of all draws so far; squares of the deviations (Welford)
    for number in range(draws):
        output = predict(forward, data, graphs, how, number).double()
        if inputs.task.loss in CLASS_LOSSES:
            output = output.softmax(-1)
        elif inputs.task.loss == "binary_cross_entropy":
            output = output.sigmoid()
        elif scaler is not None:
            output = scaler.unscale(output)
        deviation = output - mean
        mean = mean + deviation / (number + 1)
        squares = squares + deviation * (output - mean)
        progress(number + 1)
    error = (squares / (draws - 1) / draws).sqrt()
    return Predictions(mean, error, names, _places(dataset), carried)


def read_graphs(path: Path, inputs: Inputs, smiles_column: str, encoded: int = 0) -> tuple[Dataset, Columns]:
    """Read the graphs of a file as a dataset, before encodings are appended, and the columns of a CSV file.

    The targets are placeholders, except those of a packed dataset.

    Args:
        path: See :func:`predict_run`.
        inputs: Features and task of the run.
        smiles_column: Name of the column of SMILES in a CSV file.
        encoded: Number of columns of encodings in the run's node features.
    """
    columns = Columns()
    if path.suffix == ".pfgnn":
        dataset = Dataset.open(path)
        level, found = ("node" if task.level == "node" else "graph" for task in (inputs.task, dataset.task))
        if level != found:
            raise InputError(f"{path} must have a task at {level} level, as the run has, but it is at {found} level")
    elif ending(path) in (".g6", ".s6"):
        graphs = read_graph6(path)
        if not graphs:
            raise InputError(f"{path} must hold one graph per line, but it holds no graph")
        rows = sum(graph.num_nodes for graph in graphs) if inputs.task.level == "node" else len(graphs)
        dataset = Dataset.from_graphs(graphs, _no_targets(inputs.task, rows), inputs.task)
    elif ending(path) in (*TABLES, *SMILES):
        table = read_table_file(path)
        place = table.place(smiles_column)
        for line, row in zip(table.lines, table.rows, strict=True):
            try:
                table.check_row(row)
            except InputError as error:
                raise InputError(f"{path}, line {line}: {error}") from None
        smiles = [row[place] for row in table.rows]
        if not smiles:
            raise InputError(f"{path} must hold one molecule per line, but it holds no molecule")
        with reading(path, "hold one molecule per line"):
            y = _no_targets(inputs.task, len(smiles))
            dataset = Dataset.from_smiles(smiles, y, _features(inputs, encoded), inputs.task)
        columns = Columns(table.header, table.rows)
    else:
        known = ", ".join((".g6", ".s6", *TABLES, *SMILES, ".pfgnn"))
        raise InputError(f"{path} must end in one of {known}, but it ends in {shown(path.suffix)}")
    return dataset, columns


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


def _places(dataset: Dataset) -> Tensor:
    """The field ``where`` of :class:`Predictions`."""
    if dataset.task.level != "node":
        return torch.arange(len(dataset))[:, None]
    counts = torch.from_numpy(dataset.node_counts.astype(np.int64))
    graph = torch.arange(len(dataset)).repeat_interleave(counts)
    return torch.stack([graph, torch.arange(len(graph)) - (counts.cumsum(0) - counts)[graph]], 1)
