"""Trainings become a record, a table of times and a picture; a start of `pfgnn train` is timed."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import first_update, time_to_error
from benchmarks.shapes import molecules

from pfgnn.data import Dataset

TINY = ["data.name={}", "model.width=8", "model.step_layers=1", "model.particles=2", "evaluation.particles=2"]


@pytest.fixture
def zinc(tmp_path: Path) -> Path:
    """A few molecules with the parts of ZINC."""
    dataset: Dataset = molecules(12)
    parts = {"train": np.arange(6), "validation": np.arange(6, 9), "test": np.arange(9, 12)}
    replace(dataset, splits=parts).save(path := tmp_path / "own.pfgnn")
    return path


def test_our_trainings_are_gathered_and_drawn(
    zinc: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = zinc.parent / "times.json"
    settings = [word for setting in TINY for word in ("--set", setting.format(zinc))]
    for epochs in ("1", "2"):
        words = ["ours", "--epochs", epochs, "--device", "cpu", "--out", str(out), "--draw", *settings]
        monkeypatch.setattr("sys.argv", ["time_to_error", *words])
        time_to_error.main()
    lines = json.loads(out.read_text())["trainings"]
    assert [(line["who"], line["epochs"], len(line["curve"])) for line in lines] == [("ours", 1, 1), ("ours", 2, 2)]
    assert lines[0]["seconds"] > 0
    assert out.with_suffix(".png").stat().st_size > 1000
    assert json.loads(capsys.readouterr().out.splitlines()[0])["test"] == lines[0]["test"]


def test_the_shortest_training_with_the_error_counts() -> None:
    lines = [("a", 9.0, 0.09), ("a", 5.0, 0.1), ("a", 3.0, 0.2), ("a", 40.0, 0.07), ("b", 1.0, 0.11)]
    record = {"trainings": [dict(zip(("who", "seconds", "test"), line, strict=True)) for line in lines]}
    assert time_to_error.times(record) == {"a": {0.10: 5.0, 0.08: 40.0}, "b": {0.10: None, 0.08: None}}


@pytest.mark.slow
def test_a_start_is_timed(zinc: Path) -> None:
    settings = [*time_to_error.SHAPE, *(setting.format(zinc) for setting in TINY)]
    found = first_update.measure(str(time_to_error.CONFIG), settings, "cpu", 2)
    assert 0.5 < found["median seconds"] < 300
