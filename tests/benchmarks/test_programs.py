"""Every part of the two programs runs at tiny sizes, with a clock that ticks a millisecond a look."""

import io
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks import cpu, gpu, scaling, shapes
from benchmarks.roofline import count, count_step, measure_rates
from benchmarks.shapes import OURS, ZINC, molecules
from benchmarks.steps import Effort, degree_histogram, prepare, time_steps
from rich.console import Console

from pfgnn.graphs import rook, shrikhande


def ticks() -> Callable[[], float]:
    counter = itertools.count()
    return lambda: next(counter) / 1000


def tiny() -> Effort:
    return Effort(least=2, seconds=0, warm_ups=1, batches=1, graphs=4, divide=64, clock=ticks())


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


RATES = {"bytes a second": 1e9} | {f"{p} operations a second": 1e12 for p in ("float32", "tf32", "bf16")}


@pytest.mark.slow
def test_the_gpu_program_on_a_cpu(tmp_path: Path, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)  # its bf16 stops the process on some CPUs
    monkeypatch.setattr(shapes, "sr25", lambda: (rook(4), shrikhande()))  # which are quick to make
    monkeypatch.setattr(scaling, "PARTICLES", (1, 2))
    for name in ("STEPS", "OUR_STEPS", "NODES"):
        monkeypatch.setattr(scaling, name, (1, 2) if name != "NODES" else (20, 40))
    monkeypatch.setattr(gpu, "EPOCHS", 2)
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: function)  # it would take minutes
    monkeypatch.setattr(gpu, "measure_rates", lambda device, size: RATES)
    out = tmp_path / "gpu.json"
    gpu.run("cpu", tiny(), list(gpu.PARTS), out, console)
    record = json.loads(out.read_text())
    assert set(gpu.PARTS) < set(record)
    assert record["steps"]["ZINC shape, batch 512"]["times faster"] == pytest.approx(1)  # the clock ticks alike
    for letters in record["scaling"].values():
        for of in letters.values():
            assert of["at most linear"]
            assert of["floor ms"][0] < of["floor ms"][1]
    assert record["steps"]["ZINC shape, batch 64, tf32"]["pfgnn"]["floor ms"] > 0
    assert record["bf16"]["ZINC shape, batch 64"]["floor ms"] > 0
    assert list(record["compiled"]) == ["tf32", "bf16"]
    assert [sentence.partition(":")[0] for sentence in gpu.missed(record)] == list(gpu.GOALS)  # 1 is less than both
    assert record["backbone"]["tf32"]["backbone of 8 layers"]["PF-GNN by this"] == pytest.approx(1)
    assert len(record["training"]["float32"]["epochs seconds"]) == 2
    assert (tmp_path / "scaling.png").stat().st_size > 1000


def test_a_goal_that_is_met_is_not_missed() -> None:
    first, second = gpu.GOALS
    steps = {first: {"times faster": 20.1}, second: {"times faster": 9.96}}
    assert gpu.missed({"steps": steps}) == [f"{second}: 10.0 times faster than the baseline, but the goal is 10"]
    assert gpu.missed({"bf16": {}}) == []


def test_one_part_never_replaces_the_record_of_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["gpu", "--only", "bf16"])
    with pytest.raises(SystemExit):
        gpu.main()
    assert "--only needs --out, because results/bench/gpu.json holds all parts of one run" in capsys.readouterr().err


def test_the_cpu_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)  # its bf16 stops the process on some CPUs
    monkeypatch.setattr(cpu, "product_rate", lambda dtype, width: 1e9 * dtype.itemsize)
    monkeypatch.setattr(cpu, "one_molecule", lambda calls: {"1 draws": {"median ms": calls, "median CPU ms": 1.0}})
    out, written = tmp_path / "cpu.json", io.StringIO()
    cpu.run(2, out, Console(file=written, width=200), tiny(), (ticks(), ticks()), calls=3)
    shapes = json.loads(out.read_text())["shapes"]
    names = "ZINC shape, batch 64, float32", "our method, batch 128, float32", "our method, batch 128, bf16"
    assert tuple(shapes) == names
    record, low = (shapes[name] for name in names[1:])
    assert record["inference"]["floor seconds"] < low["inference"]["floor seconds"]  # half the rate here
    assert "one molecule: 3.0 ms, of which 1.0 ms of CPU" in written.getvalue()
    assert record["training step"]["wall"]["times faster"]["median"] == pytest.approx(1)
    assert len(record["profile of inference"]) == 10
    floors = [record[name]["roofline"]["floor of bytes ms"] for name in ("training step", "inference")]
    assert floors[0] > floors[1] > 0
    shares = [of["share"] for of in record["profile of a training step"]]
    assert shares == sorted(shares, reverse=True)


def test_rates_are_measured() -> None:
    rates = measure_rates(torch.device("cpu"), size=16, seconds=0.001)
    assert len(rates) == 4
    assert min(rates.values()) > 0


def test_medians_are_of_the_clock() -> None:
    with prepare(ZINC, "cpu", tiny()) as work:
        timing = time_steps(lambda batch: None, work.batches, work.device, tiny())
    assert timing.median == pytest.approx(1e-3)
    assert timing.steps == 2


def test_steps_are_timed_for_as_long_as_asked() -> None:
    with prepare(ZINC, "cpu", tiny()) as work:
        effort = Effort(least=2, seconds=0.05, warm_ups=0, clock=ticks())
        timing = time_steps(lambda batch: None, work.batches, work.device, effort)
    assert timing.steps == pytest.approx(0.05 / 0.003, abs=1)  # three looks at the clock a step


def test_made_up_molecules_have_the_statistics_of_zinc() -> None:
    dataset = molecules(1500)
    assert dataset.node_counts.mean() == pytest.approx(23.2, rel=0.02)
    assert dataset.edge_counts.mean() == pytest.approx(49.8, rel=0.02)
    degrees = degree_histogram(dataset)
    assert len(degrees) == 5
    assert degrees[0] == 0
    assert np.array_equal(molecules(3).edges, molecules(3).edges)


def test_the_count_follows_the_formula() -> None:
    model = replace(ZINC.model, width=2, layers=1, step_layers=1, towers=1, steps=1, particles=3)
    found = count_step(model, N=10, E=20, G=2, parameters=7)
    layers = (2 * 16 * 10 + 2 * 20) + (2 * 16 * 30 + 2 * 20)
    assert found.operations == 3 * 4 * (layers + 2 * 30 + 2 * 10 + 8 * 6 + 2 * 2 * 2)
    assert found.bytes == 4 * ((5 * 10 * 2 + 3 * 20 * 2) + (5 * 30 * 2 + 3 * 20 * 2) + 4 * 30 * 2) + 40 * 7
    forward = count_step(model, N=10, E=20, G=2, parameters=7, training=False)
    assert forward.operations == found.operations / 3
    assert forward.bytes == 4 * ((2 * 10 * 2 + 20 * 2) + (2 * 30 * 2 + 20 * 2) + 2 * 30 * 2) + 4 * 7


def test_our_method_is_counted_too() -> None:
    model = replace(OURS.model, width=2, layers=1, step_layers=1, particles=3)
    found = count_step(model, N=10, E=20, G=2, parameters=7)
    layers = (12 * 10 + 2 * 20) + (12 * 30 + 2 * 20)
    told = 4 * 10 + 4 * 2 * 3
    assert found.operations == 3 * 4 * (layers + told + 2 * 10 + 2 * 30 + 8 * 6 + 2 * 2 * 2)
    assert found.bytes == 4 * ((5 * 10 * 2 + 3 * 20 * 2) + (5 * 30 * 2 + 3 * 20 * 2)) + 40 * 7


def test_the_floor_is_that_of_what_takes_longer() -> None:
    with prepare(ZINC, "cpu", tiny()) as work:
        counted = count(work)
    assert counted.floor(RATES, "tf32") == max(counted.bytes / 1e9, counted.operations / 1e12)


def test_a_straight_line_is_found_and_a_steep_one_seen() -> None:
    straight = scaling.linear_fit((1, 2, 4), [3.0, 5.0, 9.0])
    assert straight["slope ms"] == pytest.approx(2)
    assert straight["R²"] == pytest.approx(1)
    assert straight["at most linear"]
    assert not scaling.linear_fit((1, 2, 4), [1.0, 2.0, 9.0])["at most linear"]
