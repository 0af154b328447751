"""Optimisers and schedules by their defining numbers."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from pfgnn.experiments.config_file import parse_config
from pfgnn.training.config import ScheduleConfig, TrainingConfig
from pfgnn.training.optimise import Schedule, make_optimiser, make_schedule, set_rate

CPU = torch.device("cpu")
PLATEAU = ScheduleConfig("plateau", factor=0.5, patience=2, min_lr=0.2)


def schedule(of: ScheduleConfig, peak: float = 1.0, updates: int = 100) -> Schedule:
    return make_schedule(TrainingConfig(learning_rate=peak, schedule=of), updates)


def rates(of: Schedule, costs: list[float]) -> list[float]:
    """The rate after each cost that it observes."""
    found = []
    for cost in costs:
        of.observe(cost)
        found.append(of.rate(0))
    return found


@pytest.mark.parametrize(("name", "kind"), [("adam", "Adam"), ("adamw", "AdamW"), ("sgd", "SGD")])
def test_the_named_optimiser(name: str, kind: str) -> None:
    config = TrainingConfig(learning_rate=0.3, weight_decay=0.2)
    optimiser = make_optimiser(nn.Linear(2, 2).parameters(), replace(config, optimiser=name), CPU)  # type: ignore
    assert type(optimiser).__name__ == kind
    (group,) = optimiser.param_groups
    assert (group["lr"], group["weight_decay"], len(group["params"])) == (0.3, 0.2, 2)


@pytest.mark.parametrize(("name", "kind"), [("adam", "Adam"), ("adamw", "AdamW"), ("sgd", "SGD")])
def test_it_does_what_the_optimiser_of_torch_does(name: str, kind: str) -> None:
    """With its state saved and loaded on the way, and without a gradient of the update itself."""
    weights = [nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2)]
    config = TrainingConfig(learning_rate=0.3, weight_decay=0.2, optimiser=name)  # type: ignore
    theirs = getattr(torch.optim, kind)([weights[1]], lr=0.3, weight_decay=0.2)
    state: dict[str, Any] | None = None
    for _ in range(3):
        ours = make_optimiser([weights[0]], config, CPU)
        if state is not None:
            ours.load_state_dict(state)
        for weight, optimiser in zip(weights, (ours, theirs), strict=True):
            optimiser.zero_grad()
            weight.pow(3).sum().backward()
            optimiser.step()
        state = ours.state_dict()
    assert torch.equal(*weights)
    assert not torch.equal(weights[0], torch.tensor([1.0, -2.0]))


def test_an_update_does_not_wait_for_the_compiler() -> None:
    code = """
import sys
import torch
from pfgnn.training.config import TrainingConfig
from pfgnn.training.optimise import make_optimiser
weight = torch.nn.Parameter(torch.ones(2))
optimiser = make_optimiser([weight], TrainingConfig(), torch.device("cpu"))
weight.sum().backward()
optimiser.step()
print("torch._dynamo" in sys.modules)
torch.optim.Adam([weight])  # the control
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_setting_the_rate(device: torch.device) -> None:
    layer = nn.Linear(1, 1, bias=False).to(device)
    nn.init.zeros_(layer.weight)
    optimiser = make_optimiser(layer.parameters(), TrainingConfig(learning_rate=1.0), device)
    held = optimiser.param_groups[0]["lr"]
    set_rate(optimiser, 0.25)
    layer.weight.grad = torch.full_like(layer.weight, 3.0)
    optimiser.step()  # the first step of Adam has the length of the rate
    assert layer.weight.item() == pytest.approx(-0.25, rel=1e-5)
    if device.type == "cuda":
        assert optimiser.param_groups[0]["lr"] is held  # a CUDA graph reads it there


def test_constant() -> None:
    of = schedule(ScheduleConfig(), peak=0.1)
    assert rates(of, [math.inf] * 50) == [0.1] * 50
    assert {of.rate(update) for update in range(100)} == {0.1}
    assert not of.exhausted


def test_plateau_goes_down_after_more_than_patience_without_a_new_best() -> None:
    of = schedule(PLATEAU)
    assert rates(of, [5, 5, 5, 4, 4, 4]) == [1] * 6  # a new best after two makes it wait anew
    assert rates(of, [4, 9, 4, 4]) == [0.5, 0.5, 0.5, 0.25]
    assert rates(of, [4, 4, 4]) == [0.25, 0.25, 0.2]  # not 0.125
    assert rates(of, [4] * 9) == [0.2] * 9
    assert not of.exhausted  # it was not asked to stop


def test_plateau_stops_at_its_least_rate_if_asked() -> None:
    of = schedule(replace(PLATEAU, stop_at_min=True, patience=0))
    ended = []
    for _ in range(6):
        of.observe(1.0)
        ended.append((of.rate(0), of.exhausted))
    assert ended == [(1, False), (0.5, False), (0.25, False), (0.2, False), (0.2, True), (0.2, True)]


@pytest.mark.parametrize("stop", range(1, 12))
def test_a_plateau_goes_on_from_its_state(stop: int) -> None:
    costs = [3.0, 3.0, 2.0, 2.0, 2.5, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    config = replace(PLATEAU, patience=1, stop_at_min=True)
    whole, before, after = (schedule(config) for _ in range(3))
    want = rates(whole, costs)
    first = rates(before, costs[:stop])
    after.load(json.loads(json.dumps(before.state())))
    assert first + rates(after, costs[stop:]) == want
    assert after.state() == whole.state()
    assert len(set(want)) == 4


def test_a_fresh_plateau_has_a_state_that_json_keeps() -> None:
    of = schedule(PLATEAU)
    of.load(json.loads(json.dumps(of.state())))
    assert rates(of, [1e300, 1e300]) == [1, 1]


@pytest.mark.parametrize("updates", [2, 3, 10, 101])
def test_one_cycle_rises_once_and_falls_to_nothing(updates: int) -> None:
    of = schedule(ScheduleConfig("one_cycle"), peak=2.0, updates=updates)
    found = [of.rate(update) for update in range(updates)]
    assert found[0] == pytest.approx(2 / 25)
    top = found.index(max(found))
    assert found[: top + 1] == sorted(found[: top + 1])
    assert found[top:] == sorted(found[top:], reverse=True)
    assert max(found) <= 2
    if updates >= 3:
        assert found[-1] == pytest.approx(2e-6)
    if updates == 101:
        assert top == 30
        assert found[30] == pytest.approx(2, rel=1e-3)
        assert found[15] == pytest.approx((2 + 2 / 25) / 2, rel=2e-2)  # half the way in half the time
        assert found[65] == pytest.approx(1, rel=2e-2)


def cosine(updates: int, warm_up: float = 0.1, peak: float = 2.0, min_lr: float = 0.5) -> list[float]:
    """The rates of all updates."""
    of = schedule(ScheduleConfig("cosine", warm_up=warm_up, min_lr=min_lr), peak, updates)
    return [of.rate(update) for update in range(updates)]


def test_cosine_by_its_numbers() -> None:
    found = cosine(111, warm_up=0.1)
    assert found[:12] == pytest.approx([2 * step / 12 for step in range(1, 13)])  # the first 11, then the peak
    assert found[61] == pytest.approx((2 + 0.5) / 2, rel=2e-2)  # half the way in half the time
    assert found[11 + 33] == pytest.approx(0.5 + 1.5 * 0.75, rel=1e-9)  # cos(π/3) is a half
    assert found[-1] == 0.5


@pytest.mark.parametrize("warm_up", [0.0, 0.05, 0.07, 0.5, 0.99])
@pytest.mark.parametrize("updates", [2, 3, 10, 101])
@pytest.mark.parametrize("min_lr", [0.0, 0.1, 0.3])
def test_cosine_rises_once_in_a_straight_line_and_falls(updates: int, warm_up: float, min_lr: float) -> None:
    found = cosine(updates, warm_up, peak=0.3, min_lr=min_lr)
    top = min(round(warm_up * updates), updates - 1)
    assert found[0] == pytest.approx(0.3 / (top + 1))
    assert found[: top + 1] == sorted(found[: top + 1])
    assert [after - before for before, after in pairwise(found[: top + 1])] == pytest.approx([0.3 / (top + 1)] * top)
    assert max(found) <= 0.3
    assert found[top] == pytest.approx(0.3)
    assert found[top:] == sorted(found[top:], reverse=True)
    if top < updates - 1:
        assert found[-1] == min_lr


def test_cosine_without_a_warm_up_starts_at_its_peak() -> None:
    found = cosine(10, warm_up=0.0)
    assert found[0] == max(found) == 2
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("warm_up", [0.0, 0.05, 0.9])
def test_cosine_of_one_update_has_its_peak(warm_up: float) -> None:
    assert cosine(1, warm_up) == [2]


def test_cosine_stays_at_its_end() -> None:
    of = schedule(ScheduleConfig("cosine", min_lr=0.25), updates=10)
    assert [of.rate(update) for update in (9, 10, 1000)] == [0.25] * 3


def test_cosine_goes_on_from_the_update_alone() -> None:
    config = ScheduleConfig("cosine", warm_up=0.3)
    whole, before, after = (schedule(config, updates=20) for _ in range(3))
    want = [whole.rate(update) for update in range(20)]
    first = [before.rate(update) for update in range(7)]
    before.observe(3.0)
    after.load(json.loads(json.dumps(before.state())))
    assert first + [after.rate(update) for update in range(7, 20)] == want
    assert not after.exhausted


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"warm_up": 1.0}, r"training\.schedule\.warm_up must be at least 0 and below 1, but it is 1\.0"),
        ({"warm_up": -0.1}, r"training\.schedule\.warm_up must be at least 0 and below 1, but it is -0\.1"),
        ({"warm_up": "much"}, r"training\.schedule\.warm_up must be a finite number, but it is 'much'"),
        ({"min_lr": 0.1}, r"min_lr must be at most training\.learning_rate, 0\.001, but it is 0\.1"),
        ({"min_lr": -0.1}, r"training\.schedule\.min_lr must be at least 0, but it is -0\.1"),
    ],
)
def test_a_wrong_cosine_gets_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    schedule = {"kind": "cosine", "warm_up": 0}
    mapping = {"data": {"name": "csl"}, "training": {"epochs": 3, "schedule": schedule}}
    assert parse_config(mapping).training.schedule == ScheduleConfig("cosine", warm_up=0.0)
    schedule |= changes
    with pytest.raises((TypeError, ValueError), match=sentence):
        parse_config(mapping)


def test_only_a_plateau_has_a_state() -> None:
    for kind in ("constant", "one_cycle", "cosine"):
        assert schedule(ScheduleConfig(kind)).state() == {}
