"""What stops a run leaves its last good checkpoint."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.training_samples import CONFIG, lines, trainer, weights
from torch import nn

from pfgnn.model import GIN, PFGNN
from pfgnn.training import checkpoints as kept_state
from pfgnn.training.checkpoint_file import BEST, LAST, read_checkpoint
from pfgnn.training.validate import Validation


class Bad(nn.Module):
    """A model that has no value from an update on."""

    def __init__(self, healthy: int) -> None:
        super().__init__()
        self.inner, self.left = PFGNN.paper(GIN(8, layers=1), 2, steps=1, particles=2), healthy

    def forward(self, *arguments: Any, **options: Any) -> Any:
        output = self.inner(*arguments, **options)
        self.left -= self.training
        return output._replace(prediction=output.prediction * (float("nan") if self.left < 0 else 1.0))


@pytest.mark.parametrize(("every", "seconds", "kept"), [(1, 10.0, 5), (None, 0.0, 4), (None, 10.0, 2)])
def test_a_loss_that_is_no_number_stops_the_run_and_leaves_a_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int | None, seconds: float, kept: int
) -> None:
    monkeypatch.setattr(kept_state, "SECONDS_BETWEEN_CHECKPOINTS", seconds)
    monkeypatch.setattr(kept_state, "WAIT_PER_SECOND_OF_WRITING", 0.0)
    of = trainer(tmp_path, replace(CONFIG, checkpoint_every=every), model=Bad(5))
    with pytest.raises(
        FloatingPointError, match=r"no longer finite, at update 6 or up to \d before; a smaller"
    ) as caught:
        of.train()
    assert f"the last good checkpoint is {tmp_path / LAST}" in str(caught.value)
    tensors, state = read_checkpoint(tmp_path / LAST)
    assert state["run"]["update"] == kept
    assert read_checkpoint(tmp_path / BEST).state["run"]["update"] == of.state.best_update  # the best so far is kept
    assert all(bool(tensor.isfinite().all()) for tensor in tensors.values())
    assert len(lines(tmp_path)) == 2


def test_without_a_good_checkpoint_none_is_promised(tmp_path: Path) -> None:
    with pytest.raises(FloatingPointError, match=r"training\.clip may help$"):
        trainer(tmp_path, replace(CONFIG, checkpoint_every=None), model=Bad(1)).train()
    assert not (tmp_path / LAST).exists()


@pytest.mark.parametrize(("optimiser", "rate"), [("adam", 1e30), ("sgd", 1e30), ("sgd", 1e38)])
def test_a_rate_that_is_far_too_large_leaves_no_checkpoint_that_is_not_finite(
    tmp_path: Path, optimiser: str, rate: float
) -> None:
    config = replace(CONFIG, epochs=3, learning_rate=rate, optimiser=optimiser, clip=None)  # type: ignore[arg-type]
    of = trainer(tmp_path, config)
    with pytest.raises(FloatingPointError, match="no longer finite"):
        of.train()
    for path in tmp_path.glob("*.safetensors"):
        assert all(bool(tensor.isfinite().all()) for tensor in read_checkpoint(path).tensors.values()), path


def full_disk(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full from the ``at``-th write on."""
    write: Callable[[Path, bytes], int] = Path.write_bytes
    left = [at]

    def fill(path: Path, content: bytes) -> int:
        left[0] -= 1
        if left[0] < 0:
            write(path, content[:100])
            raise OSError(28, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", fill)


def test_a_full_disk_stops_the_run_with_its_cause_and_it_goes_on_later(tmp_path: Path) -> None:
    trainer(tmp_path / "whole").train()
    of = trainer(tmp_path / "full")
    with pytest.MonkeyPatch.context() as patch:
        full_disk(4, patch)
        with pytest.raises(OSError, match="No space left on device, so training stopped at update") as caught:
            of.train()
    assert caught.value.errno == 28
    again = trainer(tmp_path / "full")
    again.resume(tmp_path / "full" / LAST)
    again.train()
    for name in (LAST, BEST):
        one, other = (read_checkpoint(tmp_path / folder / name).tensors for folder in ("whole", "full"))
        assert all(torch.equal(one[key], other[key]) for key in one)
    assert [line["update"] for line in lines(tmp_path / "full")] == [2, 4, 6, 8]


def test_a_validation_without_a_value_is_never_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = trainer(tmp_path)
    values = iter([float("nan"), 0.25, float("nan"), 0.125])
    monkeypatch.setattr(Validation, "score", lambda self: next(values))
    of.train()
    assert (of.state.best, of.state.best_update) == (0.25, 4)


def test_the_record_names_the_weights_that_were_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine may not come to the best weights again that a stopped run has kept."""
    first = trainer(tmp_path, replace(CONFIG, checkpoint_every=None))
    values = iter([0.5, 0.75])
    monkeypatch.setattr(Validation, "score", lambda self: next(values))  # then it stops, with its best of update 4
    with pytest.raises(StopIteration):
        first.train()
    again = trainer(tmp_path, replace(CONFIG, checkpoint_every=None))
    again.resume(tmp_path / LAST)
    assert again.state.update == 2
    monkeypatch.setattr(Validation, "score", lambda self: 0.25)
    again.train()
    assert again.state.best_update == 2
    again.load_best()
    assert (again.state.best, again.state.best_update) == (0.75, 4)
    kept = read_checkpoint(tmp_path / BEST).tensors
    assert all(torch.equal(tensor, kept[f"model.{name}"]) for name, tensor in weights(again).items())
