"""Ctrl-C leaves a checkpoint, from which the run goes on as if it had not been stopped."""

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.test_resume import assert_same
from tests.training.training_samples import CONFIG, trainer

from pfgnn.interrupts import Stopped
from pfgnn.training.checkpoint_file import LAST, read_checkpoint
from pfgnn.training.loop import Trainer
from pfgnn.training.validate import Validation

# 16 training graphs in batches of 6: three updates in an epoch, and the last of 8 updates within one.
RARE = replace(CONFIG, epochs=None, updates=8, batch_size=6, checkpoint_every=None, validate_every=10)


@pytest.fixture(autouse=True)
def _ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopped(folder: Path, at: int, **changes: Any) -> Trainer:
    """A run that gets Ctrl-C in the middle of update ``at``, counted from 0."""
    of = trainer(folder, replace(RARE, **changes))
    step = of.step

    def interrupted(*arguments: Any) -> None:
        if of.state.update == at:
            signal.raise_signal(signal.SIGINT)
        step(*arguments)

    of.step = interrupted  # type: ignore[assignment]
    return of


def resume(folder: Path, **changes: Any) -> Trainer:
    again = trainer(folder, replace(RARE, **changes))
    again.resume(folder / LAST)
    again.train()
    return again


@pytest.mark.parametrize("at", [0, 2, 4, 6, 7])
def test_no_update_is_lost(tmp_path: Path, at: int) -> None:
    trainer(tmp_path / "whole", RARE).train()
    with pytest.raises(Stopped):
        stopped(tmp_path / "run", at).train()
    assert read_checkpoint(tmp_path / "run" / LAST).state["run"]["update"] == at + 1
    resume(tmp_path / "run")
    assert_same(tmp_path / "whole", tmp_path / "run")


@pytest.mark.parametrize("validation", [0, 1, 2])
def test_a_stop_in_a_validation_does_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, validation: int) -> None:
    """The third one is the last, after update 8, which is not the end of an epoch."""
    every: dict[str, Any] = {"validate_every": 1}
    trainer(tmp_path / "whole", replace(RARE, **every)).train()
    score, left = Validation.score, [validation]

    def interrupted(self: Validation) -> float | None:
        left[0] -= 1
        if left[0] == -1:
            signal.raise_signal(signal.SIGINT)
        return score(self)

    with monkeypatch.context() as patch:
        patch.setattr(Validation, "score", interrupted)
        of = trainer(tmp_path / "run", replace(RARE, **every))
        with pytest.raises(Stopped):
            of.train()
    assert read_checkpoint(tmp_path / "run" / LAST).state["run"]["update"] == (3, 6, 8)[validation]
    resume(tmp_path / "run", **every)
    assert_same(tmp_path / "whole", tmp_path / "run")


def test_a_checkpoint_that_is_due_is_written_once(tmp_path: Path) -> None:
    """So that the previous one stays the one before it."""
    with pytest.raises(Stopped):
        stopped(tmp_path, 4, checkpoint_every=1).train()
    updates = [
        read_checkpoint(tmp_path / f"{name}.safetensors").state["run"]["update"] for name in ("last", "previous")
    ]
    assert updates == [5, 4]


def test_the_same_trainer_goes_on_too(tmp_path: Path) -> None:
    trainer(tmp_path / "whole", RARE).train()
    of = stopped(tmp_path / "run", 3)
    with pytest.raises(Stopped):
        of.train()
    of.train()
    assert_same(tmp_path / "whole", tmp_path / "run")


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    of = stopped(tmp_path, 1)
    with pytest.raises(Stopped):
        of.train()
    saved = (tmp_path / LAST).read_bytes()
    with torch.no_grad():
        next(of.model.parameters()).fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="no longer finite"):
        of.train()
    assert (tmp_path / LAST).read_bytes() == saved
