"""Small runs, from a packed file to a run directory, for the tests of whole runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.training.training_samples import CLASSES, graphs

from pfgnn.data.task import Task
from pfgnn.experiments.config import Config, DataConfig, EvaluationConfig, ModelConfig
from pfgnn.experiments.config_file import write_config
from pfgnn.training.config import TrainingConfig

NODES = Task("node", 2, "weighted_cross_entropy", "accuracy")
TARGETS = Task("graph", 3, "l1", "mae", ("a", "b", "c"))
PARTS = {"train": np.arange(12), "validation": np.arange(12, 16), "test": np.arange(16, 20)}


def packed(folder: Path, task: Task = CLASSES) -> Path:
    """A packed file of 20 small graphs in three parts."""
    path = folder / f"{task.level}-{task.loss}.pfgnn"
    replace(graphs(20, task), splits=PARTS).save(path)
    return path


def small(data: Path, training: dict[str, Any] | None = None, **changes: Any) -> Config:
    """A config of a few updates on a packed file."""
    defaults: dict[str, Any] = {"epochs": 2, "batch_size": 5, "learning_rate": 1e-2, "checkpoint_every": 1}
    parts: dict[str, Any] = {
        "model": ModelConfig(width=8, layers=1, steps=1, particles=2),
        "training": TrainingConfig(**{**defaults, **(training or {})}),
        "evaluation": EvaluationConfig(draws=3),
        **changes,
    }
    return Config(DataConfig(str(data)), **parts)


def written(path: Path, config: Config) -> Path:
    """The config as a file."""
    write_config(path, config)
    return path
