"""What is not finite is never scored, and the graph that it comes from is named."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.training_samples import CONFIG, graphs, trainer
from torch import Tensor, nn

from pfgnn.data import Dataset
from pfgnn.data.loader import Loader, Resident
from pfgnn.data.task import Task
from pfgnn.model import GIN, PFGNN
from pfgnn.training.devices import open_devices
from pfgnn.training.evaluate import Draws, Forward, predict

TARGETS = Task("graph", 2, "l1", "mae")
NODES = Task("node", 2, "l1", "mae")


class Poisoned(nn.Module):
    """A PF-GNN whose predictions of some graphs are changed, those with the given keys."""

    def __init__(self, keys: list[int], change: Callable[[Tensor], Tensor], level: str = "graph") -> None:
        super().__init__()
        self.inner = PFGNN.paper(GIN(8, layers=1, norm="batch"), 2, steps=1, particles=2, level=level)
        self.keys, self.change, self.level = torch.tensor(keys), change, level

    def forward(self, batch: Any, **options: Any) -> Any:
        output = self.inner(batch, **options)
        hit = torch.isin(batch.graph_key, self.keys)
        rows = (hit[batch.batch] if self.level == "node" else hit).nonzero()[:, 0]
        changed = output.prediction.index_copy(0, rows, self.change(output.prediction[rows]))
        return output._replace(prediction=changed)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("task", [TARGETS, NODES], ids=["graph", "node"])
def test_a_prediction_that_is_not_finite_names_its_graph(task: Task, value: float) -> None:
    model = Poisoned([7, 12], lambda z: torch.full_like(z, value), task.level)
    forward, data = Forward(model, open_devices("cpu")), Resident(graphs(task=task))
    sentence = rf"a prediction must be finite, but that of graph 12 is {value} \(2 of 4 graphs\)"
    with pytest.raises(ValueError, match=sentence):
        predict(forward, data, np.array([3, 12, 7, 5]), Draws(0, batch_size=3), 0)
    assert predict(forward, data, np.array([3, 5]), Draws(0), 0).isfinite().all()


def test_weights_that_are_not_finite_are_told_as_such() -> None:
    model = PFGNN.paper(GIN(8, layers=1), 2, steps=1, particles=2)
    next(model.parameters()).data.fill_(math.nan)
    with pytest.raises(FloatingPointError, match="the weights of the model are no longer finite, so it cannot predict"):
        predict(Forward(model, open_devices("cpu")), Resident(graphs()), np.arange(4), Draws(0), 0)


@pytest.mark.parametrize(
    "change", [lambda z: z * math.nan, lambda z: (z - z).sqrt() + z], ids=["loss", "only the gradient"]
)
def test_a_first_update_that_is_not_finite_names_the_graph(tmp_path: Path, change: Callable[[Tensor], Tensor]) -> None:
    """The learning rate is not the cause, because no weight was changed before."""
    order = Loader(graphs(), np.arange(16), shuffle=True).order(0)
    of = trainer(tmp_path, model=Poisoned([int(order[3])], change))
    sentence = rf"must be finite in the first update, .* because of graph {order[3]} \(1 of 8 graphs\); check what it"
    with pytest.raises(FloatingPointError, match=sentence):
        of.train()
    assert not list(tmp_path.glob("*.safetensors"))


def test_a_first_update_that_no_graph_explains_or_each_does(tmp_path: Path) -> None:
    everywhere = trainer(tmp_path / "each", model=Poisoned(list(range(20)), lambda z: z * math.nan))
    with pytest.raises(FloatingPointError, match="with every graph as the cause; check the model"):
        everywhere.train()

    class Together(Poisoned):
        def forward(self, batch: Any, **options: Any) -> Any:
            output = super().forward(batch, **options)
            return output._replace(prediction=output.prediction * (math.nan if batch.num_graphs > 1 else 1.0))

    with pytest.raises(FloatingPointError, match="with no graph alone as the cause; check the model"):
        trainer(tmp_path / "none", model=Together([], lambda z: z)).train()


def test_a_huge_target_is_named(tmp_path: Path) -> None:
    """It is finite in float64, but not in the arithmetic of the training."""
    data: Dataset = graphs(task=TARGETS)
    y = data.y.copy()
    wrong = int(Loader(data, np.arange(16), shuffle=True).order(0)[5])
    y[wrong] = 1e300
    with pytest.raises(FloatingPointError, match=rf"because of graph {wrong} \(1 of 8 graphs\)"):
        trainer(tmp_path, replace(CONFIG, clip=None), replace(data, y=y)).train()
