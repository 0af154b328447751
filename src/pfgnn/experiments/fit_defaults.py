"""The settings that `fit` chooses if the user chooses none. docs/method.md has the evidence for them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import Shards
from pfgnn.data.task import CLASS_LOSSES
from pfgnn.errors import InputTypeError, shown
from pfgnn.experiments.config import OWN_BACKBONE, Config
from pfgnn.experiments.config_file import apply_override, parse_config, set_value
from pfgnn.experiments.fit_steps import least_steps
from pfgnn.experiments.prepare import column_scales
from pfgnn.graphs.arrays import IntArray
from pfgnn.model.backbones.stack import Stack
from pfgnn.model.linear_part import MOST_COLUMNS, linear_columns

ALL_VERTICES = 64  # graphs of up to so many vertices are tested with one particle for each vertex
MANY = 5000  # training graphs from which the deeper network of the config ours/zinc pays
VISITS = 2_000_000  # graphs that a training sees in all, if this is 10 to 100 epochs
LEAST_UPDATES = 600
LEAST_PATIENCE = 10
NORM_BATCHES = 8  # with running means, the validation of regular graphs is useless until the end of the training
MEASURED = 10_000  # training graphs whose features and extent in space are measured


def choose_config(
    dataset: Dataset | Shards,
    train: IntArray,
    name: str,
    seed: int,
    *,
    tests: Sequence[str],
    validation: str | None,
    changes: Mapping[str, Any],
    overrides: Sequence[str] = (),
    backbone: nn.Module | None = None,
) -> Config:
    """The config of a fit. Particles exchange nothing if the backbone is the user's own, which does not support it.

    Args:
        dataset: The graphs.
        train: Numbers of the training graphs.
        name: Path of the packed file that will hold the graphs.
        seed: Seed of the run.
        tests: Parts to test on.
        validation: The validation part; None if there is none.
        changes: Values of settings by their dotted names, such as {"model.width": 32}.
        overrides: Further changes as text, such as "model.width=32".
        backbone: The backbone, if it was given as an object.
    """
    graphs, largest = len(np.unique(train)), int(dataset.node_counts[train].max())
    like = dataset.sample if isinstance(dataset, Shards) else dataset
    featured = like.x is not None
    edges = like.edge_attr is not None or like.pos is not None  # of positions, lengths become features of edges
    some = like if isinstance(dataset, Shards) else dataset.subset(np.unique(train)[:MEASURED])
    reach = _reach(some)
    scales = {
        "node_scales": column_scales(some.x, some.node_categories),
        "edge_scales": column_scales(some.edge_attr, some.edge_categories),
    }
    every_vertex = largest <= ALL_VERTICES
    steps = least_steps(some) if every_vertex else 1
    numbers = dataset.task.loss == "l1"
    sums = linear_columns(like.in_channels, like.edge_channels)
    mapping: dict[str, Any] = {
        "data": {
            "name": name,
            "validation": validation,
            "tests": list(tests),
            **({} if reach is None else {"positions": "distance"}),
            **{setting: list(found) for setting, found in scales.items() if found},
        },
        "model": {
            "backbone": "gine" if edges else "gin",
            "layers": 1,
            "step_layers": 8 if featured and graphs >= MANY else 4,
            "particles": 16,
            "steps": steps,
            **({} if featured else {"max_distance": 12}),
            **({} if reach is None else {"individualise": "position", "reach": reach}),
            # The mean over particles helps if the test sees every vertex. Otherwise it does harm.
            "exchange": "both" if featured and every_vertex else "mark",
            "linear": numbers and featured and sums <= MOST_COLUMNS,
        },
        "training": {
            **_length(graphs, len(train)),
            "learning_rate": 1e-3,
            "schedule": {"kind": "cosine", "min_lr": 0.0},
            "standardise": numbers,
            "norm_batches": NORM_BATCHES,
            "select": "log_loss" if dataset.task.loss in CLASS_LOSSES else "metric",
        },
        "evaluation": {
            "particles": max(largest, 16) if every_vertex else 32,
            "draws": 1 if every_vertex and steps == 1 else 4,
            "average": True,
        },
        "seed": seed,
    }
    config, named = _with_changes(mapping, changes, overrides), _named(changes, overrides)
    own = OWN_BACKBONE.fullmatch(config.model.backbone) and not isinstance(backbone, Stack)
    if own and "model.exchange" not in named:
        config = replace(config, model=replace(config.model, exchange="none"))
    training = config.training
    if validation is None or "training.patience" in named:
        return config
    epochs = training.epochs or (training.updates or 0) * training.batch_size // (len(train) * training.copies)
    return replace(config, training=replace(training, patience=max(epochs // 3, LEAST_PATIENCE)))


def _reach(graphs: Dataset) -> float | None:
    """How far nodes lie apart: the length of the box around a graph, of 19 graphs in 20. None without positions."""
    if graphs.pos is None:
        return None
    first = np.cumsum(graphs.node_counts, dtype=np.int64) - graphs.node_counts
    sides = (of.reduceat(graphs.pos, first, axis=0) for of in (np.maximum, np.minimum))
    lengths = np.linalg.norm(next(sides) - next(sides), axis=1)
    return float(f"{np.quantile(lengths, 0.95):.2g}") or 1.0  # two digits; all nodes may lie in one point


def check_changes(changes: Mapping[str, Any], overrides: Sequence[str] = ()) -> None:
    """Raise an error if changes of settings are wrong. The graphs are not needed for this.

    Args:
        changes: See :func:`choose_config`.
        overrides: See :func:`choose_config`.
    """
    _with_changes({"data": {"name": "./data.pfgnn"}, "training": {"epochs": 1}}, changes, overrides)


def _with_changes(mapping: dict[str, Any], changes: Mapping[str, Any], overrides: Sequence[str]) -> Config:
    """The config of a mapping after changes. A number of updates takes the place of the number of epochs."""
    for key, value in changes.items():
        if not isinstance(key, str):
            raise InputTypeError(f"the name of a setting must be text such as model.width, but it is {shown(key)}")
        set_value(mapping, key, value)
    for change in overrides:
        apply_override(mapping, change)
    training, named = mapping.get("training"), _named(changes, overrides)
    if isinstance(training, dict) and "training.updates" in named and "training.epochs" not in named:
        training["epochs"] = None
    _keep_together(mapping, named)
    return parse_config(mapping)


def _keep_together(mapping: dict[str, Any], named: set[str]) -> None:
    """Change the linear part and the scaling of targets together if only one of them is named."""
    model, training = mapping.setdefault("model", {}), mapping.setdefault("training", {})
    if not isinstance(model, dict) or not isinstance(training, dict):
        return
    if "training.standardise" not in named and model.get("linear") is True:
        training["standardise"] = True
    if "model.linear" not in named and training.get("standardise") is False:
        model["linear"] = False


def _named(changes: Mapping[str, Any], overrides: Sequence[str]) -> set[str]:
    """The dotted names of all settings that are changed."""
    return {*changes, *(text.partition("=")[0] for text in overrides)}


def _length(graphs: int, entries: int) -> dict[str, int]:
    """Batch size and epochs. Few graphs get small batches and many epochs.

    Args:
        graphs: Number of different training graphs.
        entries: Entries of the training part; more than graphs if some are in it several times.
    """
    batch_size = 16 if graphs < 200 else 32 if graphs < 20_000 else 64 if graphs < 200_000 else 128
    epochs = min(max(VISITS // graphs, 10), 100)
    updates = max(epochs * -(-graphs // batch_size), LEAST_UPDATES)
    return {"batch_size": batch_size, "epochs": max(round(updates / -(-entries // batch_size)), 1)}
