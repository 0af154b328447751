"""A step replayed from a CUDA graph is the plain step."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.training.training_samples import CONFIG, graphs, trainer, weights

from pfgnn.data.task import Task
from pfgnn.training.devices import make_fabric
from pfgnn.training.loop import Trainer
from pfgnn.training.step import Replayed

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
TASKS = {
    "classes": Task("graph", 2, "cross_entropy", "accuracy"),
    "nodes": Task("node", 2, "weighted_cross_entropy", "accuracy"),
    "targets": Task("graph", 3, "l1", "mae"),
}


def both(tmp_path: Path, task: Task, uniform: bool, updates: int) -> tuple[Trainer, Trainer]:
    """The same training plain, without padding, and replayed."""
    config = replace(CONFIG, epochs=None, updates=updates, standardise=task.loss == "l1", checkpoint_every=None)
    made = []
    for name in ("plain", "replayed"):
        fabric = make_fabric("cuda")
        one = trainer(tmp_path / name, config, graphs(task=task, uniform=uniform), fabric=fabric)
        assert isinstance(one.step, Replayed)
        if name == "plain":
            one.step, one.loader.pad = one.step.step, None
        (tmp_path / name).mkdir()
        one.train()
        made.append(one)
    return made[0], made[1]


@cuda
@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_replayed_training_is_plain_training(tmp_path: Path, task: str, uniform: bool) -> None:
    plain, replayed = both(tmp_path, TASKS[task], uniform, updates=12)
    assert isinstance(replayed.step, Replayed)
    assert replayed.step.graphs  # something was captured, and replayed with new data, seeds and weights
    for name, tensor in weights(plain).items():
        torch.testing.assert_close(weights(replayed)[name], tensor, rtol=1e-3, atol=1e-4, msg=name)


@cuda
def test_a_replay_sees_new_data_seeds_and_rates(tmp_path: Path) -> None:
    one = trainer(tmp_path, replace(CONFIG, batch_size=16), graphs(uniform=True), fabric=make_fabric("cuda"))
    assert isinstance(one.step, Replayed)
    first, second = (one.loader.resident.collate(range(start, start + 8)) for start in (0, 8))
    seed = torch.zeros((), dtype=torch.int64, device="cuda")
    for _ in range(4):
        one.step(first, seed)
    assert len(one.step.graphs) == 1
    for group in one.optimiser.param_groups:
        group["lr"].fill_(0.0)
    before = weights(one)

    def loss(batch: object, number: int) -> float:
        one.sums.zero_()
        one.step(batch, seed.fill_(number))  # type: ignore[arg-type]
        return float(one.sums[0])

    results = [loss(first, 0), loss(second, 0), loss(first, 1), loss(first, 0)]
    assert len(set(results[:3])) == 3  # other graphs, other draws
    assert results[3] == pytest.approx(results[0], rel=1e-5)
    for name, tensor in weights(one).items():
        assert torch.equal(tensor, before[name])  # a rate of 0 changes nothing
