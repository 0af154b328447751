"""Runs on a folder of shards: the same bits from the disk as from the device, and as from one file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data.shard_samples import divided
from tests.experiments.run_samples import NODES, PARTS, TARGETS, small
from tests.experiments.test_run import interrupted
from tests.training.training_samples import CLASSES, graphs, lines

from pfgnn.data import loader, shards, streamed
from pfgnn.data.dataset import Dataset
from pfgnn.data.shard_writer import set_parts
from pfgnn.data.task import Task
from pfgnn.experiments.build import describe
from pfgnn.experiments.config import Config, ModelConfig, PairsConfig
from pfgnn.experiments.finished_run import evaluate_run
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import read_record
from pfgnn.training.checkpoint_file import LAST, read_checkpoint


@pytest.fixture
def from_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Chooses whether shards stay on the disk. Then few of them are open, and few graphs are gathered at once."""
    monkeypatch.setattr(loader, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(streamed, "MOST_OPEN", 2)

    def choose(stays: bool) -> None:
        monkeypatch.setattr(streamed, "_memory", lambda device: 0 if stays else 2**30)

    return choose


def data(task: Task = CLASSES) -> Dataset:
    return replace(graphs(20, task), splits=PARTS)


def outcome(config: Config, directory: Path, **options: Any) -> tuple[object, ...]:
    """What a run found, and the bits of its weights."""
    record = run(config, directory, device="cpu", **options)
    tensors, _ = read_checkpoint(directory / LAST)
    return record["results"], lines(directory), {name: tensor.tolist() for name, tensor in tensors.items()}


@pytest.mark.parametrize("task", [CLASSES, TARGETS, NODES], ids=["classes", "targets", "nodes"])
def test_shards_on_the_disk_give_the_bits_of_shards_on_the_device(
    tmp_path: Path, from_disk: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch, task: Task
) -> None:
    monkeypatch.setattr(shards, "WINDOW", 2)
    config = small(divided(data(task), tmp_path / "own.pfgnn", 5).folder, {"epochs": 2, "copies": 2})
    config = replace(config, data=replace(config.data, ring_walks=4, random_walks=2))
    found = []
    for stays in (True, False):
        from_disk(stays)
        found.append(outcome(config, tmp_path / f"{stays}"))
    assert found[0] == found[1]


def test_few_shards_give_the_bits_of_one_file(tmp_path: Path, from_disk: Callable[[bool], None]) -> None:
    from_disk(True)
    data().save(tmp_path / "one.pfgnn")
    divided(data(), tmp_path / "many", 5)
    one, many = (outcome(small(tmp_path / name), tmp_path / f"run of {name}") for name in ("one.pfgnn", "many"))
    assert one == many


@pytest.mark.parametrize("stopped", [2, 3, 5])
def test_a_run_goes_on_within_an_epoch(tmp_path: Path, from_disk: Callable[[bool], None], stopped: int) -> None:
    from_disk(True)
    config = small(divided(data(), tmp_path / "own.pfgnn", 5).folder)
    interrupted(config, tmp_path / "run", stopped)
    from_disk(stopped != 3)  # the device may have more memory now
    whole = outcome(config, tmp_path / "whole")
    assert outcome(config, tmp_path / "run", resume="last") == whole


def test_other_parts_or_shards_are_other_data(tmp_path: Path) -> None:
    config = small(divided(data(), tmp_path / "own.pfgnn", 5).folder)
    record = run(config, tmp_path / "run", device="cpu")
    assert evaluate_run(tmp_path / "run", device="cpu")["results"] == record["results"]
    set_parts(tmp_path / "own.pfgnn", {**PARTS, "test": np.arange(17, 20)})
    with pytest.raises(ValueError, match=r"own\.pfgnn must be the data of the run, with checksum"):
        evaluate_run(tmp_path / "run", device="cpu")


def test_a_folder_that_was_moved_is_named_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    divided(data(), tmp_path / "own", 5)
    interrupted(small(Path("./own").absolute()), Path("run"), 3)
    (tmp_path / "own").replace(tmp_path / "moved.pfgnn")
    run(small(Path("moved.pfgnn")), Path("run"), device="cpu", resume="last")
    found = evaluate_run(Path("run"), device="cpu", overrides=("data.name=./moved.pfgnn",))
    assert found["results"] == read_record(Path("run"))["results"]


def test_a_bare_name_of_a_folder_is_told_how_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    divided(data(), tmp_path / "own", 5)
    with pytest.raises(ValueError, match=r"but it is 'own' \(write \./own for the folder\)"):
        run(small(Path("own")), tmp_path / "run", device="cpu")


def test_the_model_knows_the_same_about_shards(tmp_path: Path) -> None:
    dataset, train = data(), np.array([3, 19, 3, 7])
    one, many = describe(dataset, train), describe(divided(dataset, tmp_path / "own", 5), train)
    assert replace(many, mean_log_degree=one.mean_log_degree) == one
    assert many.mean_log_degree == pytest.approx(one.mean_log_degree, rel=1e-12)


def test_the_pair_test_needs_pairs(tmp_path: Path) -> None:
    config = small(divided(data(), tmp_path / "own.pfgnn", 5).folder, {"epochs": 1})
    config = replace(config, evaluation=replace(config.evaluation, pairs=PairsConfig()))
    with pytest.raises(ValueError, match="must have pairs to be told apart, but it has none"):
        run(config, tmp_path / "run", device="cpu")


@pytest.mark.cuda
def test_on_a_gpu_shards_on_the_disk_train_as_those_on_the_device(
    tmp_path: Path, from_disk: Callable[[bool], None]
) -> None:
    """With CUDA graphs, which read batches that came on another stream."""
    dataset = replace(graphs(400), splits={"train": np.arange(320), "validation": np.arange(320, 360)})
    config = small(divided(dataset, tmp_path / "own.pfgnn", 20).folder, {"epochs": 3, "batch_size": 16})
    config = replace(config, data=replace(config.data, tests=()), model=ModelConfig(width=8, layers=1, particles=2))
    scores = []
    for stays in (True, False):
        from_disk(stays)
        run(config, tmp_path / f"{stays}", device="cuda")
        scores.append(lines(tmp_path / f"{stays}")[0]["loss"])  # later ones would show the rounding of the kernels
    assert scores[0] == pytest.approx(scores[1], rel=1e-3)
