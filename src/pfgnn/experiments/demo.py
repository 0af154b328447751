"""The demo: GIN alone and PF-GNN on GIN, on circular skip link graphs, which 1-WL cannot tell apart."""

import shutil
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from pfgnn.data import Dataset
from pfgnn.data.generated import CSL_NODES, CSL_SKIPS
from pfgnn.data.task import Task
from pfgnn.experiments.config import (
    Config,
    DataConfig,
    EvaluationConfig,
    ModelConfig,
    PairsConfig,
    ScheduleConfig,
    TrainingConfig,
)
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import CONFIG
from pfgnn.experiments.run_lock import check_free
from pfgnn.graphs import csl
from pfgnn.training.metrics_file import Status

DIRECTORIES = {"GIN": "gin", "PF-GNN on GIN": "pf-gnn"}  # model → its run directory


def demo_data() -> Dataset:
    """One circular skip link graph of each class, and all 45 pairs of them."""
    classes = np.arange(len(CSL_SKIPS))
    task = Task("pair", len(CSL_SKIPS), "cross_entropy", "pairs")
    pairs = np.array(list(combinations(classes, 2)))
    return Dataset.from_graphs([csl(CSL_NODES, skip) for skip in CSL_SKIPS], classes, task, name="csl", pairs=pairs)


def demo_config(data: Path, *, seed: int, steps: int, particles: int, updates: int) -> Config:
    """The config of one model of the demo.

    Args:
        data: The packed dataset.
        seed: The seed of parameters and draws.
        steps: T. With 0 the model is GIN alone.
        particles: K.
        updates: Training updates.
    """
    return Config(
        DataConfig(str(data), train="all", validation=None, tests=("all",)),
        ModelConfig(backbone="gin", width=32, layers=1, step_layers=3, norm="mark", steps=steps, particles=particles),
        TrainingConfig(
            updates=updates, batch_size=40, copies=4, learning_rate=3e-3, schedule=ScheduleConfig("cosine", min_lr=0)
        ),
        # Fresh relabellings in each draw. Copies of one graph are the control: they must not be told apart.
        EvaluationConfig(draws=15, relabel=True, pairs=PairsConfig(draws=30, controls=60, level=1e-4)),
        seed=seed,
    )


def run_demo(
    out: Path,
    *,
    seed: int = 0,
    steps: int = 2,
    particles: int = 8,
    updates: int = 100,
    report: Callable[[str, Status], None] = lambda model, status: None,
) -> dict[str, dict[str, Any]]:
    """Train and test both models. Return the record of each run by the name of the model.

    Args:
        out: A folder for the data and the two run directories. An earlier demo there is replaced.
        seed: See :func:`demo_config`.
        steps: T of PF-GNN.
        particles: K of PF-GNN.
        updates: Training updates of each model.
        report: Called during training with the name of the model and the status.
    """
    data = out / "csl.pfgnn"
    demo_data().save(data)
    records = {}
    for name, steps_of in zip(DIRECTORIES, (0, steps), strict=True):
        directory = out / DIRECTORIES[name]
        check_free(directory)
        if (directory / CONFIG).exists():
            shutil.rmtree(directory)
        config = demo_config(data, seed=seed, steps=steps_of, particles=particles, updates=updates)
        records[name] = run(config, directory, device="cpu", report=partial(report, name))
    return records
