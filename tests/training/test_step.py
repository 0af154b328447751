"""A step, and a prediction, replayed from a CUDA graph is the plain one."""

import gc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch_geometric.nn as pyg
from tests.training.training_samples import CONFIG, graphs, off_the_kinks, trainer, weights
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.data.padding import pad_batch
from pfgnn.data.task import Task
from pfgnn.model import (
    GIN,
    PFGNN,
    ByDistance,
    Distinct,
    Exchange,
    Independent,
    LinearPart,
    MLPPolicy,
    StraightThrough,
)
from pfgnn.model.rivals import GNNML3
from pfgnn.training.cuda_graphs import WARM_UPS, Replayed, replayable
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.loop import Trainer
from pfgnn.training.stages import run_stages
from pfgnn.training.step import Step

TASKS = {
    "classes": Task("graph", 2, "cross_entropy", "accuracy"),
    "nodes": Task("node", 2, "weighted_cross_entropy", "accuracy"),
    "targets": Task("graph", 3, "l1", "mae"),
}


def made(tmp_path: Path, task: str, device: str, rate: float = 0.0, ours: bool = False) -> Trainer:
    """A trainer, of the paper's model or ours, whose updates change no weight, so that gradients can be compared."""
    config = replace(CONFIG, learning_rate=rate, standardise=task == "targets", clip=None)
    model = None
    if ours:
        torch.manual_seed(0)
        told = Exchange(8, mean=True)
        level = "node" if task == "nodes" else "graph"
        backbone = GIN(8, layers=1, feed_forward=True, dropout=0.25)
        model = PFGNN(backbone, TASKS[task].outputs, steps=2, particles=3, exchange=told, level=level)
    of = trainer(tmp_path, config, graphs(task=TASKS[task]), model=model, devices=open_devices(device))
    off_the_kinks(of.model)
    return of


def batches(of: Trainer, pad: bool) -> list[GraphBatch]:
    plain = [of.loader.store.collate(range(start, start + 5)) for start in (0, 5, 10)]
    return [pad_batch(batch, 64, 256) if pad else batch for batch in plain]


def gradients(of: Trainer) -> dict[str, Tensor]:
    return {name: p.grad for name, p in of.model.named_parameters() if p.grad is not None}


def results(
    of: Trainer,
    step: Callable[[GraphBatch, Tensor], object],
    batch: GraphBatch,
    number: int,
    held: dict[str, Tensor] | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """What the step adds to the sums, and the gradients that it leaves, or those that a CUDA graph holds."""
    of.sums.zero_()
    step(batch, torch.tensor(number, device=of.devices.device))
    return of.sums.clone(), {name: g.clone() for name, g in (held or gradients(of)).items()}


def assert_same(one: tuple[Tensor, dict[str, Tensor]], other: tuple[Tensor, dict[str, Tensor]]) -> None:
    torch.testing.assert_close(one[0], other[0], rtol=1e-4, atol=1e-5)
    assert one[1].keys() == other[1].keys()
    largest = max(float(g.abs().max()) for g in one[1].values())
    for name, gradient in one[1].items():
        torch.testing.assert_close(other[1][name], gradient, rtol=1e-4, atol=1e-4 * largest, msg=name)


@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_padding_changes_no_gradient(tmp_path: Path, task: str, ours: bool, device: torch.device) -> None:
    of = made(tmp_path, task, device.type, ours=ours)
    for number, (plain, padded) in enumerate(zip(batches(of, False), batches(of, True), strict=True)):
        assert_same(results(of, of.plain, plain, number), results(of, of.plain, padded, number))


def test_padding_does_not_enter_a_norm_over_the_batch(tmp_path: Path, device: torch.device) -> None:
    model = PFGNN.paper(GIN(8, layers=2, norm="batch"), 2, steps=1, particles=2)
    off_the_kinks(model)
    of = trainer(
        tmp_path, replace(CONFIG, learning_rate=0.0, clip=None), model=model, devices=open_devices(device.type)
    )
    for number, (plain, padded) in enumerate(zip(batches(of, False), batches(of, True), strict=True)):
        assert_same(results(of, of.plain, plain, number), results(of, of.plain, padded, number))


def test_a_step_holds_on_to_nothing(tmp_path: Path) -> None:
    of = made(tmp_path, "classes", "cpu")
    assert isinstance(of.step, Step)
    results(of, of.step, batches(of, False)[0], 0)
    assert not of.sums.requires_grad
    before = sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())
    for number in range(3):
        of.step(batches(of, False)[0], torch.tensor(number))
    assert sum(issubclass(type(thing), Tensor) for thing in gc.get_objects()) <= before + 3


@pytest.mark.cuda
@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_a_replay_is_the_plain_step_on_new_data_seeds_and_weights(tmp_path: Path, task: str, ours: bool) -> None:
    of = made(tmp_path, task, "cuda", ours=ours)
    assert isinstance(of.step, Replayed)
    padded = batches(of, pad=True)
    for _ in range(WARM_UPS + 1):
        results(of, of.step, padded[0], 0)
    assert len(of.step.graphs) == 1
    held = gradients(of)  # where the graph writes them, whatever comes after
    seen = []
    for number, batch in enumerate(padded, start=7):
        with torch.no_grad():
            for p in of.model.parameters():
                p.mul_(1.01)
        replayed = results(of, of.step, batch, number, held)
        assert_same(results(of, of.plain, batch, number), replayed)
        seen.append(float(replayed[0][0]))
    assert len(of.step.graphs) == 1
    assert len(set(seen)) == 3  # a graph that replayed its first data would give one number


@pytest.mark.cuda
def test_a_replay_follows_the_learning_rate(tmp_path: Path) -> None:
    of = made(tmp_path, "classes", "cuda", rate=1e-3)
    batch = batches(of, pad=True)[0]
    for number in range(WARM_UPS + 2):
        results(of, of.step, batch, number)
    before = weights(of)
    for group in of.optimiser.param_groups:
        group["lr"].fill_(0.0)
    results(of, of.step, batch, 1)
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(of).items())
    for group in of.optimiser.param_groups:
        group["lr"].fill_(1e-2)
    results(of, of.step, batch, 1)
    assert not all(torch.equal(tensor, before[name]) for name, tensor in weights(of).items())


@pytest.mark.cuda
@pytest.mark.parametrize("task", TASKS)
def test_replayed_predictions_are_plain_ones_on_new_data_seeds_and_weights(tmp_path: Path, task: str) -> None:
    of = made(tmp_path, task, "cuda")
    forward = of.forward
    assert forward.replayed is not None
    plain = [of.loader.store.collate(range(start, start + 5)) for start in (0, 5, 10)]
    for _ in range(WARM_UPS + 1):
        forward(plain[0], 0, (64, 256))
    for number, batch in enumerate(plain, start=7):
        with torch.no_grad():
            for p in of.model.parameters():
                p.mul_(1.01)
        of.model.eval()
        want = run_stages(forward._predict(batch, torch.tensor(number, device="cuda")))
        torch.testing.assert_close(forward(batch, number, (64, 256)), want)
    assert len(forward.replayed.graphs) == 1


@pytest.mark.cuda
@pytest.mark.parametrize("task", TASKS)
def test_a_training_on_a_gpu_gives_the_same_bits_twice(tmp_path: Path, task: str) -> None:
    runs = [made(tmp_path / name, task, "cuda", rate=1e-2) for name in ("one", "other")]
    for of in runs:
        assert of.loader.pad
        of.loader.pad = (64, 256)  # coarse, so that shapes come again
        of.train()
        assert isinstance(of.step, Replayed)
        assert of.step.graphs
    one, other = map(weights, runs)
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())


class TestLearnedPolicy:
    """Each way to teach a policy, on its own, moves its parameters."""

    @pytest.mark.parametrize("way", ["weights", "graph", "particle", "entropy", "straight through", "none"])
    def test_each_way_teaches_the_policy(self, tmp_path: Path, way: str) -> None:
        mark, distinct = ByDistance(8, 2), way in ("weights", "particle", "entropy")
        model = PFGNN(
            GIN(8, layers=1),
            2,
            steps=2,
            particles=3,
            policy=MLPPolicy(8),
            sample=Distinct() if distinct else Independent(),
            individualise=StraightThrough(mark) if way == "straight through" else mark,
        )
        if way in ("particle", "entropy"):  # without the gradient of the weights
            model.sample.register_forward_hook(lambda _, __, draw: draw._replace(log_weights=draw.log_weights.detach()))
        config = replace(CONFIG, clip=None, gamma=0.0)
        if way in ("graph", "particle"):
            config = replace(config, gamma=0.1, credit="graph" if way == "graph" else "particle")
        if way == "entropy":
            config = replace(config, entropy=0.01)
        of = trainer(tmp_path, config, graphs(task=TASKS["classes"]), model=model)
        of.plain(batches(of, False)[0], of.draw)
        moved = [p.grad is not None and bool(p.grad.abs().max() > 0) for p in model.policy.parameters()][:3]
        assert moved == [way != "none"] * 3  # a shift of all scores changes none

    def test_gains_are_the_losses_without_a_particle_less_the_loss_with_all(self, tmp_path: Path) -> None:
        model = PFGNN(GIN(8, layers=1), 2, steps=2, particles=3)
        of = trainer(tmp_path, CONFIG, graphs(task=TASKS["classes"]), model=model)
        batch = batches(of, False)[0]
        output, y = model(batch, seed=1), batch.tensors()["y"]
        gains = of.plain._gains(output, y, batch.batch)
        assert gains is not None
        weights = [step.log_weights.exp() for step in output.trace]
        for t, k in ((0, 1), (1, 2)):
            without = model.readout.without_each(output.readings, weights)[t, :, k]  # [G, C]
            loss, base = (
                torch.nn.functional.cross_entropy(z, y[:, 0], reduction="none") for z in (without, output.prediction)
            )
            torch.testing.assert_close(gains[t, :, k], loss - base, rtol=1e-4, atol=1e-6)

    def test_gains_of_a_model_with_a_linear_part(self, tmp_path: Path) -> None:
        """With particles left out the prediction keeps its linear part."""
        torch.manual_seed(0)
        model = PFGNN(GIN(8, layers=1), 3, steps=1, particles=3)
        model.linear = LinearPart(0, None, 3)
        of = trainer(
            tmp_path, replace(CONFIG, gamma=0.1, credit="particle"), graphs(task=TASKS["targets"]), model=model
        )
        model.linear.bias += torch.tensor([5.0, -3.0, 0.5])
        batch = batches(of, False)[0]
        assert batch.y is not None
        batch = batch.with_fields(y=torch.zeros_like(batch.y))  # far from 0, errors would not change sign
        assert batch.y is not None
        losses, output, gains = of.plain.losses(batch, torch.tensor(1))
        assert gains is not None
        weights = [step.log_weights.exp() for step in output.trace]
        without = model.readout.without_each(output.readings, weights)[0, :, 1]
        total = model.with_linear(without, batch)
        torch.testing.assert_close(
            gains[0, :, 1], (total - batch.y).abs().mean(1).float() - losses, rtol=1e-4, atol=1e-4
        )

    def test_particles_cannot_be_left_out_at_node_level(self, tmp_path: Path) -> None:
        model = PFGNN(GIN(8, layers=1), 2, steps=1, particles=3, level="node", policy=MLPPolicy(8))
        config = replace(CONFIG, gamma=0.1, credit="particle")
        of = trainer(tmp_path, config, graphs(task=TASKS["nodes"]), model=model)
        with pytest.raises(ValueError, match="credit must be graph at node level"):
            of.plain(batches(of, False)[0], of.draw)


@pytest.mark.parametrize(
    ("backbone", "held"), [(GIN(4), True), (GNNML3(4), False), (pyg.GINConv(nn.Linear(4, 4)), False)]
)
def test_a_cuda_graph_can_hold_a_pass_if_all_shapes_are_known(backbone: nn.Module, held: bool) -> None:
    model = PFGNN(backbone, 1, width=4, exchange=False)
    for device, processes, want in (("cuda", 1, held), ("cuda", 2, held), ("cpu", 1, False)):
        assert replayable(model, Devices(torch.device(device), world=processes)) == want
