"""Simple models for comparison, trained and tested on the parts of a model folder.

- A constant: the best prediction that looks at no graph. For numbers it is the median of the training targets, for
  classes their frequencies.
- For numbers the linear part alone: a ridge regression on the numbers of nodes and edges of each kind.
- The backbone alone: the same network without the particle filter (T = 0), with as many layers in all, trained with the
  same settings. It shows what the particles are good for.
- A random forest on Morgan fingerprints, for molecules. It is hard to beat on small data.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Resident
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError, MissingPackageError
from pfgnn.experiments.config import Config, ForestConfig
from pfgnn.experiments.forest import Forest
from pfgnn.experiments.model_folder import DATA
from pfgnn.experiments.predict import TrainedRun
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import RECORD, read_run_config
from pfgnn.files import read_json, reading, write_json
from pfgnn.graphs.arrays import IntArray
from pfgnn.model.linear_part import MOST_COLUMNS, LinearPart, linear_columns
from pfgnn.training.batches import Examples
from pfgnn.training.linear_fit import GRAPHS_AT_ONCE, fit_linear
from pfgnn.training.metrics import Doubles, as_scores, score
from pfgnn.training.metrics_file import Status

BASELINES = "baselines.json"
FOREST = "random forest"
BACKBONE = "backbone"  # folder of the backbone's run, in the model folder
MOST_MOLECULES = 20_000  # a forest is trained on so many at most, drawn at random


class Baseline(NamedTuple):
    """A simple model and its predictions.

    Fields:
        name: Its name.
        about: What it is.
        prediction: Predictions of the test graphs as :func:`pfgnn.training.metrics.score` reads them, [R, C].
        molecules: For each target the number of molecules that it was trained on; empty if that is not told.
    """

    name: str
    about: str
    prediction: Doubles
    molecules: Sequence[int] = ()

    def about_target(self, column: int) -> str:
        """What it is, for one target."""
        return f"{self.about} of {self.molecules[column]} training molecules" if self.molecules else self.about


def make_baselines(
    folder: Path,
    smiles: Sequence[str],
    device: str = "auto",
    report: Callable[[Status], None] = lambda status: None,
) -> list[Baseline]:
    """Train and test all simple models. The backbone's run is in the model folder, so it is trained only once.

    Args:
        folder: Model folder of a finished fit, with a test part.
        smiles: SMILES of all graphs; empty if they are no molecules.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        report: Called during training with the status.
    """
    dataset, config = Dataset.open(folder / DATA), read_run_config(folder)
    train, test = dataset.splits["train"], dataset.splits["test"]
    found = [constant(dataset, train, len(test))]
    if dataset.task.loss == "l1" and linear_columns(dataset.in_channels, dataset.edge_channels) <= MOST_COLUMNS:
        found.append(linear(dataset, train, test))
    if config.model.kind == "pfgnn" and config.model.steps:
        record = train_backbone(config, folder / BACKBONE, device, report)
        alone = TrainedRun(folder / BACKBONE, device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the test of the model itself told graphs that are unlike
            predicted = alone.predict(dataset.subset(test), draws=1).mean.numpy()
        layers = record["config"]["model"]["layers"]
        about = f"{config.model.backbone} without particles, {layers} layers, trained in the same way"
        found.append(Baseline("backbone alone", about, as_scores(predicted, dataset.task)))
    forest = random_forest(smiles, dataset, train, test, config.seed) if smiles else None
    if forest is not None:
        found.append(forest)
    write_scores(folder, found, dataset.y[test], dataset.task)
    return found


def write_scores(folder: Path, models: Sequence[Baseline], y: Array, task: Task) -> None:
    """Write the test scores of simple models into a model folder.

    Args:
        folder: The model folder.
        models: The models.
        y: Targets of the test graphs, [R, C'].
        task: Names the metric.
    """
    scores = {}
    for model in models:
        with suppress(InputError):  # a metric may need both classes
            found = score(task, torch.from_numpy(model.prediction), torch.from_numpy(y.astype(np.float64)))
            scores[model.name] = {"metric": next(iter(found)), "scores": found}
    write_json(folder / BASELINES, {"format": 1, "models": scores})


def read_scores(folder: Path) -> dict[str, dict[str, Any]]:
    """The test scores of simple models by their names: the metric, and all scores; empty if there are none."""
    path = folder / BASELINES
    if not path.exists():
        return {}
    with reading(path, "hold the scores of simple models, as `pfgnn fit` writes them"):
        return dict(read_json(path)["models"])


def constant(dataset: Dataset, train: IntArray, rows: int) -> Baseline:
    """The constant prediction.

    Args:
        dataset: The graphs with their targets, at graph level.
        train: Numbers of the training graphs.
        rows: Number of test graphs.
    """
    task, y = dataset.task, dataset.y[train].astype(np.float64)
    if task.loss == "l1":
        values, about = np.nanmedian(y, axis=0), "always the median of the training targets"
    elif task.loss in CLASS_LOSSES:
        counts = np.bincount(y[~np.isnan(y)].astype(np.int64), minlength=task.outputs)
        values, about = counts / counts.sum(), "always the most frequent class of the training part"
    else:
        values, about = np.nanmean(y, axis=0), "always the share of positive training graphs"
    return Baseline("constant", about, as_scores(np.tile(values, (rows, 1)), task))


def linear(dataset: Dataset, train: IntArray, test: IntArray) -> Baseline:
    """The prediction of :class:`pfgnn.model.LinearPart` alone.

    Args:
        dataset: The graphs with their numbers, at graph level.
        train: Numbers of the training graphs.
        test: Numbers of the test graphs.
    """
    part, data = LinearPart(dataset.in_channels, dataset.edge_channels, dataset.task.outputs), Resident(dataset)
    scaler = fit_linear(part, Examples(data, torch.from_numpy(dataset.y.astype(np.float64)), train, None))
    predicted = torch.cat([part(batch) for batch in data.batches(test, GRAPHS_AT_ONCE)])
    about = "a sum over nodes and edges: ridge regression on the numbers of each kind"
    return Baseline("linear part alone", about, as_scores(scaler.unscale(predicted).numpy(), dataset.task))


def backbone_config(config: Config) -> Config:
    """The config of the backbone alone, with as many layers as all steps of the run have together."""
    model = config.model
    layers = model.layers + model.steps * (model.step_layers or model.layers)
    return replace(
        config,
        model=replace(model, steps=0, layers=layers, step_layers=None, particles=1),
        evaluation=replace(config.evaluation, particles=None, draws=1, pairs=None),
    )


def train_backbone(
    config: Config, folder: Path, device: str = "auto", report: Callable[[Status], None] = lambda status: None
) -> dict[str, Any]:
    """Train the backbone alone, or go on with its training, and return the record.

    Args:
        config: Config of the run that it is compared with.
        folder: Run directory of the backbone.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        report: Called during training with the status.
    """
    alone = backbone_config(config)
    if (folder / RECORD).exists():  # the model folder may have been moved since, with its data
        alone = replace(alone, data=replace(alone.data, name=read_run_config(folder).data.name))
    return run(alone, folder, device=device, resume="last", report=report)


def random_forest(
    smiles: Sequence[str], dataset: Dataset, train: IntArray, test: IntArray, seed: int = 0
) -> Baseline | None:
    """A random forest on Morgan fingerprints. None if scikit-learn or RDKit is missing.

    Args:
        smiles: SMILES of all graphs of the dataset.
        dataset: The graphs with their targets.
        train: Numbers of the graphs to train on.
        test: Numbers of the graphs to predict.
        seed: Seed of the forest.
    """
    try:
        forest = Forest(ForestConfig(), dataset.task, seed)
    except MissingPackageError:
        return None
    chosen = np.unique(train)
    if len(chosen) > MOST_MOLECULES:
        chosen = np.random.default_rng(seed).choice(chosen, MOST_MOLECULES, replace=False)
    known, new = ([smiles[graph] for graph in graphs.tolist()] for graphs in (chosen, test))
    prediction = forest.fit(known, dataset.y[chosen]).predict(new)
    return Baseline(FOREST, forest.about, prediction, (~np.isnan(dataset.y[chosen])).sum(0).tolist())
