"""Every config of the repository: read, built, and trained for one step, on graphs like those of its dataset."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pfgnn.data import Dataset, Resident, Task, load
from pfgnn.data.readers import OGB_ATOMS, OGB_BONDS, QM9_JOINT, QM9_TARGETS
from pfgnn.data.splits import k_folds
from pfgnn.experiments.build import adapt, build_model, parts
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.model_inputs import describe
from pfgnn.experiments.shipped import CONFIGS
from pfgnn.graphs.generators import random_graph
from pfgnn.training.losses import class_weights, graph_losses
from pfgnn.training.objective import Objective

FILES = sorted(str(path.relative_to(CONFIGS)) for path in CONFIGS.rglob("*.yaml") if path.parent.name != "bases")
NETWORKS = [file for file in FILES if read_config(CONFIGS / file).model.kind != "forest"]
# What the comments of the files say that their rivals and other columns are.
OVERRIDDEN = [
    ("sr25.yaml", ["model.backbone=gcn"]),
    ("sr25.yaml", ["model.backbone=gat"]),
    ("sr25.yaml", ["model.backbone=gnnml1"]),
    ("exp-folds.yaml", ["data.fold=9", "model.kind=ppgn"]),
    ("triangles.yaml", ["model.backbone=gin", "model.steps=0"]),
    ("lcc.yaml", ["model.backbone=gat", "model.steps=0"]),
    ("zinc.yaml", ["model.steps=0"]),
    ("ablations/zinc-no-edge-features.yaml", ["model.steps=0"]),
    ("qm9.yaml", ["model.steps=0"]),
    ("ablations/csl-random.yaml", ["model.share=0.125"]),
    ("ablations/csl-simultaneous.yaml", ["model.vertices_per_step=9"]),
    ("rivals/lcc-rni.yaml", ["model.share=0.5"]),
]
GENERATED: dict[str, dict[str, Any]] = {
    "sr25": {},
    "csl": {"copies": 3},
    "triangles": {"train": 10, "validation": 10, "test": 10, "test_large": 10},
    "lcc": {"train": 4, "test": 1, "test_large": 1},
    "connectivity": {"train": 4, "test": 2},
    "planarity": {"train": 4, "test": 2},
    "bipartiteness": {"train": 4, "test": 2},
}
BREC_TASK = Task("pair", 16, "none", "pairs")
MOLECULES: dict[str, dict[str, Any]] = {
    "zinc": {"task": Task("graph", 1, "l1", "mae"), "node_categories": (28,), "edge_categories": (4,)},
    "alchemy": {"task": Task("graph", 12, "l1", "mae"), "node_categories": (6,), "edge_categories": (4,)},
    "qm9": {"task": QM9_JOINT, "node_categories": (5,), "edge_categories": (5,)},
    "qm9-film": {
        "task": Task("graph", 12, "l1", "error_ratio", QM9_TARGETS, (1.0,) * 12),
        "node_categories": (5,),
        "edge_categories": (5,),
    },
    "molhiv": {
        "task": Task("graph", 1, "binary_cross_entropy", "roc_auc"),
        "node_categories": OGB_ATOMS,
        "edge_categories": OGB_BONDS,
    },
}
# The paper's hyperparameter table: backbone, K, T, γ, batch size, width, epochs; no backbone where it has several.
PAPER = {
    "sr25": (None, 4, 8, 0.1, 128, 64, 100),
    "exp": (None, 4, 8, 0.1, 128, 64, 100),
    "csl": ("gin", 8, 3, 1.0, 16, 64, 500),
    "triangles": ("pna", 24, 3, 1.0, 128, 64, 500),
    "lcc": ("gin", 4, 2, 0.1, 64, 64, 500),
    "zinc": ("pna", 8, 3, 0.1, 64, 150, 500),
    "alchemy": ("pna", 8, 4, 0.1, 64, 150, 500),
    "qm9": ("mpnn", 4, 2, 0.1, 64, 64, 300),
    "qm9-film": ("mpnn", 4, 2, 0.1, 64, 64, 300),
    "molhiv": ("pna", 8, 2, 0.1, 256, 120, 200),
}


def stand_in(name: str) -> Dataset:
    """A few graphs with the task, features and parts of the named dataset."""
    if name in GENERATED:
        return load(name, **GENERATED[name])
    rng = np.random.default_rng(0)
    graphs = [random_graph(8, 12, rng) for _ in range(20)]
    if name == "exp":
        made = Dataset.from_graphs(graphs, [0, 1] * 10, name=name, pairs=np.arange(20).reshape(-1, 2))
        return replace(made, x=rng.integers(2, size=(160, 1)), node_categories=(2,), splits=k_folds(20, 10))
    if name == "brec":
        pairs = np.arange(20).reshape(-1, 2)
        return Dataset.from_graphs(graphs, np.repeat(range(10), 2), BREC_TASK, name=name, pairs=pairs)
    facts = MOLECULES[name]
    binary = facts["task"].loss == "binary_cross_entropy"
    y = np.arange(20)[:, None] % 2 if binary else rng.normal(size=(20, facts["task"].outputs))
    x = np.stack([rng.integers(size, size=160) for size in facts["node_categories"]], axis=1)
    made = Dataset.from_graphs(graphs, y, name=name)
    edge_attr = np.stack([rng.integers(size, size=made.edges.shape[1]) for size in facts["edge_categories"]], axis=1)
    pos = rng.normal(size=(160, 3)) if name == "qm9" else None
    splits = {"train": np.arange(16), "validation": np.array([16, 17]), "test": np.array([18, 19])}
    return replace(made, x=x, edge_attr=edge_attr, pos=pos, splits=splits, **facts)


def take_a_step(config: Config) -> None:
    """Build the model and train it on four graphs; its losses and gradients are finite, and it changes."""
    data = adapt(stand_in(config.data.name), config.data, config.model)
    assert config.evaluation.pairs is None or data.pairs is not None
    train = parts(config.data, data)["train"]
    model = build_model(config.model, describe(data, train), config.seed)
    batch = Resident(data).collate(train[:4])
    output, y = model(batch), batch.tensors()["y"]
    weights = class_weights(y, data.task.outputs) if data.task.loss == "weighted_cross_entropy" else None
    losses = graph_losses(data.task, output.prediction, y, batch.batch, 4, weights)
    optimiser = torch.optim.Adam(model.parameters(), lr=config.training.learning_rate)
    Objective(config.training.gamma)(losses, output.trace).total.backward()
    before = [parameter.clone() for parameter in model.parameters()]
    optimiser.step()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert losses.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert any(not torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("file", NETWORKS)
def test_the_file_trains(file: str) -> None:
    take_a_step(read_config(CONFIGS / file))


@pytest.mark.parametrize(("file", "overrides"), OVERRIDDEN)
def test_the_file_trains_as_its_comment_says(file: str, overrides: list[str]) -> None:
    take_a_step(read_config(CONFIGS / file, overrides))


@pytest.mark.parametrize("file", FILES)
def test_the_file_begins_with_where_it_stands_in_the_paper(file: str) -> None:
    comment = [line for line in (CONFIGS / file).read_text().splitlines() if line.startswith("#")]
    assert re.search(r"Table \d+|not the paper's setting", " ".join(comment))


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_hyperparameters(name: str) -> None:
    config = read_config(CONFIGS / f"{name}.yaml")
    model, training = config.model, config.training
    backbone, *numbers = PAPER[name]
    assert backbone in (None, model.backbone)
    assert [
        model.particles,
        model.steps,
        training.gamma,
        training.batch_size,
        model.width,
        training.epochs,
    ] == numbers
    assert training.learning_rate == 1e-3
    assert training.schedule.kind == ("constant" if name in ("sr25", "exp") else "plateau")


@pytest.mark.parametrize("name", ["exp", "zinc", "molhiv"])
def test_stand_ins_are_like_the_data(name: str, data_dir: Path) -> None:
    real, like = load(name), stand_in(name)
    assert real.task == like.task
    assert (real.in_channels, real.edge_channels) == (like.in_channels, like.edge_channels)
    assert real.splits.keys() == like.splits.keys()
    assert (real.pairs is None) == (like.pairs is None)
    assert (real.pos is None) == (like.pos is None)
