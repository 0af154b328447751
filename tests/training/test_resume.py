"""A run that stops anywhere and goes on ends as if it had never stopped, bit for bit."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.experiments.run_samples import packed, small, written
from tests.training.training_samples import CONFIG, graphs, lines, trainer, weights
from torch import Tensor

from pfgnn.data.task import Task
from pfgnn.experiments.run_directory import read_record
from pfgnn.model import GIN, PFGNN, Exchange, MLPPolicy
from pfgnn.training import checkpoints as state
from pfgnn.training.checkpoint_file import BEST, LAST, PREVIOUS, Checkpoint, read_checkpoint, write_checkpoint
from pfgnn.training.config import ScheduleConfig, TrainingConfig
from pfgnn.training.loop import Trainer

ROOT = Path(__file__).parents[2]
KILLS = 2  # reliability.faults has many more
TARGETS = Task("graph", 2, "l1", "mae")


class Stopped(Exception):
    """The end of a run that the test asked for."""


def content(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and state of a checkpoint, but for the time it took."""
    tensors, state = read_checkpoint(path)
    state["run"].pop("seconds")
    return tensors, state


def assert_same(one: Path, other: Path, how: str = "") -> None:
    """Both folders hold the same end of a run."""
    assert lines(one) == lines(other), how
    for name in (LAST, BEST):
        (mine, my_state), (theirs, their_state) = content(one / name), content(other / name)
        assert my_state == their_state, how
        assert mine.keys() == theirs.keys(), how
        assert [key for key in mine if not torch.equal(mine[key], theirs[key])] == [], how


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_with_the_same_weights(tmp_path: Path, seed: int) -> None:
    """At other moments in each run of the tests; they follow from its seed, and from how fast the machine is."""
    training = {"epochs": 5, "batch_size": 4, "checkpoint_every": 2, "schedule": ScheduleConfig("plateau", patience=1)}
    config = written(tmp_path / "config.yaml", small(packed(tmp_path), training))
    command = [sys.executable, "-m", "tests.experiments.crashing", str(config), str(tmp_path), str(seed), str(KILLS)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (seed, done.stderr)
    kills = json.loads(done.stdout)
    owners = {name.split(".")[0] for name in read_checkpoint(tmp_path / "unbroken" / LAST).tensors}
    assert owners == {"model", "optimiser", "sums"}
    assert sum(map(len, kills)) >= KILLS
    want = read_record(tmp_path / "unbroken")["results"]
    for number in range(len(kills)):
        folder = tmp_path / f"broken-{number}"
        assert_same(tmp_path / "unbroken", folder, f"seed {seed}: {kills}")
        assert read_record(folder)["results"] == want


CONFIGS: dict[str, tuple[TrainingConfig, Task | None]] = {
    "each update": (CONFIG, None),
    "each validation": (replace(CONFIG, checkpoint_every=None, validate_every=2), None),
    "first validation": (replace(CONFIG, checkpoint_every=None), None),
    "every third": (replace(CONFIG, checkpoint_every=3, schedule=ScheduleConfig("one_cycle")), None),
    "sgd": (replace(CONFIG, optimiser="sgd", schedule=ScheduleConfig("plateau", patience=0)), None),
    "targets": (replace(CONFIG, epochs=2, batch_size=16, optimiser="adamw", standardise=True, copies=2), TARGETS),
    "ours": (replace(CONFIG, epochs=2, schedule=ScheduleConfig("cosine", min_lr=0)), None),
}


def ours() -> PFGNN:
    """Our method with what has a state or draws: batch norm, dropout, distinct paths of a learned policy."""
    torch.manual_seed(0)
    backbone = GIN(8, layers=1, norm="batch", feed_forward=True, dropout=0.25)
    return PFGNN(backbone, 2, steps=2, particles=3, policy=MLPPolicy(8), exchange=Exchange(8, mean=True))


@pytest.fixture(autouse=True)
def _no_waiting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints as often as they are asked for; or after the first validation only, for no other is due so soon."""
    if "first validation" not in request.node.name:
        monkeypatch.setattr(state, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        monkeypatch.setattr(state, "WAIT_PER_SECOND_OF_WRITING", 0.0)


def made(folder: Path, case: str, **options: Any) -> Trainer:
    config, task = CONFIGS[case]
    model = ours() if case == "ours" else None
    return trainer(folder, config, graphs(task=task) if task else None, model=model, **options)


def stop(at: int) -> Callable[..., None]:
    """A function that stops the run when it is called for the ``at``-th time, counted from 0."""
    left = [at]

    def count_down(*ignored: object) -> None:
        if left[0] == 0:
            raise Stopped
        left[0] -= 1

    return count_down


def resumed(folder: Path, case: str) -> Trainer:
    """The run of a folder, trained to its end."""
    again = made(folder, case)
    if (folder / LAST).exists():
        again.resume(folder / LAST)
    again.train()
    return again


@pytest.mark.slow
@pytest.mark.parametrize("case", CONFIGS)
def test_stopped_before_any_update(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = made(tmp_path / "whole", case)
    whole.train()
    for update in range(whole.updates):
        folder = tmp_path / str(update)
        broken = made(folder, case)
        step, count_down = broken.step, stop(update)
        monkeypatch.setattr(broken, "step", lambda *a, step=step, count_down=count_down: (count_down(), step(*a)))
        with pytest.raises(Stopped):
            broken.train()
        again = resumed(folder, case)
        own = weights(whole)
        assert all(torch.equal(tensor, own[name]) for name, tensor in weights(again).items())
        assert_same(tmp_path / "whole", folder)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["each update", "each validation", "first validation"])
def test_stopped_between_a_validation_and_its_checkpoint(tmp_path: Path, case: str) -> None:
    """The line of that validation is in metrics.jsonl already, and must not be there twice."""
    made(tmp_path / "whole", case).train()
    for validation in range(len(lines(tmp_path / "whole"))):
        folder = tmp_path / str(validation)
        count_down = stop(validation)
        broken = made(folder, case, report=lambda s, count_down=count_down: count_down() if s.validation else None)
        with pytest.raises(Stopped):
            broken.train()
        assert len(lines(folder)) == validation + 1
        resumed(folder, case)
        assert_same(tmp_path / "whole", folder)


def test_going_on_from_the_previous_checkpoint(tmp_path: Path) -> None:
    made(tmp_path / "whole", "each update").train()
    broken = made(tmp_path / "broken", "each update")
    step, count_down = broken.step, stop(5)
    broken.step = lambda *a: (count_down(), step(*a))  # type: ignore[assignment]
    with pytest.raises(Stopped):
        broken.train()
    last = tmp_path / "broken" / LAST
    last.write_bytes(last.read_bytes()[:-100])
    again = made(tmp_path / "broken", "each update")
    with pytest.raises(ValueError, match=r"last\.safetensors must be a whole checkpoint"):
        again.resume(last)
    again.resume(tmp_path / "broken" / PREVIOUS)
    assert again.state.update == 4
    again.train()
    assert_same(tmp_path / "whole", tmp_path / "broken")


def test_a_half_written_line_of_metrics_is_dropped(tmp_path: Path) -> None:
    made(tmp_path, "each update").train()
    want = lines(tmp_path)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"update": 10, "upda')
    resumed(tmp_path, "each update")
    assert lines(tmp_path) == want


def test_a_checkpoint_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    of = made(tmp_path, "each update")
    of.train()
    tensors, state = read_checkpoint(tmp_path / LAST)
    write_checkpoint(tmp_path / LAST, Checkpoint({**tensors, "sums": tensors["sums"][:5]}, state))
    with pytest.raises(ValueError, match="must be of this version of pfgnn, but is of an earlier one"):
        made(tmp_path, "each update").resume(tmp_path / LAST)


def test_a_damaged_line_of_metrics_is_named(tmp_path: Path) -> None:
    made(tmp_path, "each update").train()
    path = tmp_path / "metrics.jsonl"
    path.write_text("{" + path.read_text())
    again = made(tmp_path, "each update")
    again.resume(tmp_path / LAST)
    with pytest.raises(ValueError, match=r"metrics\.jsonl must hold lines of metrics .*, but it cannot be read"):
        again.train()
