"""A budget of time: when runs stop, and when it is too late to start one."""

import math

import pytest

from pfgnn.experiments import budget as module
from pfgnn.experiments.budget import Budget


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    return clock


def test_the_slowest_start_is_kept_back_for_the_end(clock: Clock) -> None:
    budget = Budget(2)
    assert budget.seconds() == 120
    clock.now += 10
    budget.note_start(begun=102)
    assert budget.seconds() == 120 - 10 - 8
    budget.note_start(begun=109)  # a faster one
    assert budget.seconds() == 120 - 10 - 8
    clock.now = 100 + 120 - 8.5
    assert not budget.is_over()
    clock.now = 100 + 120 - 8
    assert budget.is_over()


def test_a_run_is_started_if_it_works_as_long_as_it_starts(clock: Clock) -> None:
    budget = Budget(1)
    clock.now = 110
    budget.note_start(begun=100)
    clock.now = 130  # 30 seconds are left: 10 to start, 10 to work, 10 to stop
    assert budget.is_worth_a_start()
    clock.now = 130.1
    assert not budget.is_worth_a_start()
    assert not budget.is_over()  # what runs may go on


def test_without_a_measured_start_all_of_the_time_is_used(clock: Clock) -> None:
    budget = Budget(1)
    clock.now = 159.9
    assert budget.is_worth_a_start()
    clock.now = 160
    assert not budget.is_worth_a_start()


def test_without_minutes_there_is_no_end(clock: Clock) -> None:
    budget = Budget(None)
    clock.now += 1e9
    budget.note_start(begun=0)
    assert budget.seconds() == math.inf
    assert budget.is_worth_a_start()


@pytest.mark.parametrize("minutes", [0, -1, 1e7, math.nan, math.inf])
def test_wrong_minutes_get_a_sentence(minutes: float) -> None:
    with pytest.raises(ValueError, match="minutes must be "):
        Budget(minutes)
