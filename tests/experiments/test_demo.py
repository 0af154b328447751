"""The demo in small: the full one is `make demo`."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfgnn.data.loader import Loader
from pfgnn.experiments.demo import DIRECTORIES, demo_data, run_demo
from pfgnn.experiments.finished_run import load_weights
from pfgnn.graphs import is_isomorphic, wl_equivalent
from pfgnn.training.metrics_file import Status

CHANCE = pytest.approx(0.1)


def small(out: Path) -> dict[str, dict[str, Any]]:
    return run_demo(out, steps=1, particles=2, updates=2)


def test_the_classes_are_one_to_1_wl_and_ten_to_isomorphism() -> None:
    data = demo_data()
    for left, right in itertools.combinations(map(data.graph, range(len(data))), 2):
        assert wl_equivalent(left, right)
        assert not is_isomorphic(left, right)


def test_gin_is_at_chance_whatever_it_learns(tmp_path: Path) -> None:
    gin, pf = small(tmp_path).values()
    assert gin["results"]["all"]["value"] == CHANCE
    for record in (gin, pf):
        assert record["pairs"]["pairs"] == 45
        assert record["pairs"]["controls"] >= 60
        assert record["pairs"]["false_alarms"] == 0
    assert gin["pairs"]["told_apart"] == 0


def test_it_repeats_bit_for_bit_and_replaces_an_earlier_demo(tmp_path: Path) -> None:
    one, other = (
        {name: (record["results"], record["pairs"]) for name, record in small(tmp_path).items()} for _ in range(2)
    )
    assert one == other
    assert {path.name for path in tmp_path.iterdir()} == {"csl.pfgnn", *DIRECTORIES.values()}


def test_the_status_names_the_model(tmp_path: Path) -> None:
    said: list[tuple[str, Status]] = []
    run_demo(tmp_path, steps=1, particles=2, updates=2, report=lambda name, status: said.append((name, status)))
    assert list(dict.fromkeys(name for name, _ in said)) == list(DIRECTORIES)
    assert all(status.updates == 2 for _, status in said)


def test_the_record_counts_the_parameters_that_a_model_uses(tmp_path: Path) -> None:
    """GIN alone has no parameters of the steps that it does not take."""
    data = demo_data()
    (batch,) = Loader(data, np.arange(len(data)), len(data))
    for name, record in small(tmp_path).items():
        model = load_weights(tmp_path / DIRECTORIES[name], record).model
        model(batch, seed=0).prediction.square().sum().backward()
        assert record["parameters"] == sum(p.numel() for p in model.parameters() if p.grad is not None)


@pytest.mark.slow
def test_pfgnn_learns_what_gin_cannot(tmp_path: Path) -> None:
    gin, pf = run_demo(tmp_path, steps=1, particles=8, updates=80).values()
    assert gin["results"]["all"]["value"] == CHANCE
    assert pf["results"]["all"]["value"] > 0.9  # other machines train other weights
    assert pf["pairs"]["told_apart"] == 45
    assert pf["pairs"]["false_alarms"] == 0


@pytest.mark.parametrize("name", list(DIRECTORIES.values()))
def test_a_folder_that_is_not_a_run_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "notes.txt").write_text("mine")
    small(tmp_path)
    assert (tmp_path / name / "notes.txt").read_text() == "mine"
