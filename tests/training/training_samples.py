"""Small runs for the tests of the engine."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from pfgnn.data import Dataset
from pfgnn.data.loader import Resident
from pfgnn.data.task import Task
from pfgnn.graphs import random_graph
from pfgnn.model import GIN, PFGNN
from pfgnn.training.batches import Examples
from pfgnn.training.config import TrainingConfig
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.evaluate import Draws
from pfgnn.training.loop import Trainer
from pfgnn.training.metrics_file import Status
from pfgnn.training.seeds import evaluation_seed

CLASSES = Task("graph", 2, "cross_entropy", "accuracy")
CONFIG = TrainingConfig(epochs=4, batch_size=8, learning_rate=1e-2, checkpoint_every=1)


def graphs(count: int = 20, task: Task = CLASSES, uniform: bool = False) -> Dataset:
    """Random graphs of 4 to 8 nodes, or all of 6; the label says whether there are many edges."""
    rng = np.random.default_rng(0)
    sizes = [6 if uniform else int(n) for n in rng.integers(4, 9, count)]
    edges = [6 if uniform else int(rng.integers(2, n * (n - 1) // 2)) for n in sizes]
    made = [random_graph(n, m, rng) for n, m in zip(sizes, edges, strict=True)]
    rows = sum(sizes) if task.level == "node" else count
    y = rng.normal(100, 10, (rows, task.outputs)) if task.loss == "l1" else rng.integers(0, 2, rows)
    return Dataset.from_graphs(made, y, task)


def trainer(
    folder: Path,
    config: TrainingConfig = CONFIG,
    dataset: Dataset | None = None,
    *,
    model: nn.Module | None = None,
    devices: Devices | None = None,
    seed: int = 0,
    steps: int = 2,
    report: Callable[[Status], None] = lambda status: None,
) -> Trainer:
    """A trainer of a tiny PF-GNN; the last fifth of the graphs validates."""
    data = dataset or graphs()
    devices = devices or open_devices("cpu")
    resident = Resident(data, devices.device)
    targets = torch.from_numpy(data.y).to(resident.y_dtype if data.y.dtype.kind in "iub" else torch.float64)
    cut = len(data) * 4 // 5
    level = "node" if data.task.level == "node" else "graph"
    torch.manual_seed(seed)
    return Trainer(
        model or PFGNN.paper(GIN(8, layers=1), data.task.outputs, steps=steps, particles=3, level=level),
        Examples(resident, targets, np.arange(cut), np.arange(cut, len(data))),
        data.task,
        config,
        seed=seed,
        draws=Draws(evaluation_seed(seed), batch_size=8),
        devices=devices,
        folder=folder,
        identity={"seed": seed},
        report=report,
    )


def off_the_kinks(model: nn.Module) -> None:
    """Move all weights a little, where gradients are compared.

    With the first weights of a norm over the graph, a vertex of mean degree has 0 before the relu, and rounding decides
    whether it has a gradient.
    """
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn(p.shape, generator=generator).to(p), alpha=0.1)


def weights(of: Trainer) -> dict[str, torch.Tensor]:
    """The parameters and buffers as they are now."""
    return {name: tensor.detach().cpu().clone() for name, tensor in of.model.state_dict().items()}


def lines(folder: Path) -> list[dict[str, Any]]:
    """What metrics.jsonl says, but for the time it took."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in found]
