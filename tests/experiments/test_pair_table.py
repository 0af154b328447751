"""All pairs of a dataset are compared, in as many calls as it takes, and counted by category with their controls."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.pair_table import Settings, compare_limits, compare_pairs, count_controls, summarise
from pfgnn.experiments.pair_training import Policy, train_and_compare
from pfgnn.experiments.run_lock import Holder
from pfgnn.graphs import Graph, circulant, disjoint_union
from pfgnn.graphs.strongly_regular import sr25
from pfgnn.training.devices import open_devices
from pfgnn.training.distinguish import threshold

RING, TRIANGLES = circulant(6, [1]), disjoint_union(circulant(3, [1]), circulant(3, [1]))
PATH = Graph(6, np.stack([np.arange(5), np.arange(1, 6)], 1))
FEW = Settings(steps=1, particles=64, draws=16)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Pairs that differ to 1-WL, with one mark, with two marks, and not at all."""
    pairs = {"0 marks": [RING, PATH], "1 mark": [RING, TRIANGLES], "2 marks": sr25()[:2]}
    pairs["never"] = [RING, RING.relabel([2, 5, 0, 4, 1, 3])]
    return Dataset.from_graphs(
        [graph for both in pairs.values() for graph in both],
        np.repeat(np.arange(4), 2),
        Task("pair", 16, "none", "pairs"),
        pairs=np.arange(8).reshape(-1, 2),
        splits={name: np.array([2 * number, 2 * number + 1]) for number, name in enumerate(pairs)},
    )


def test_pairs_are_counted_by_category_and_by_marks(dataset: Dataset, tmp_path: Path) -> None:
    record = compare_pairs(dataset, tmp_path / "pairs.json", FEW, "cpu")
    table, controls = summarise(record, dataset), count_controls(record)
    assert {of.name: of.by_steps for of in table} == {
        "0 marks": [1, 1],
        "1 mark": [0, 1],
        "2 marks": [0, 0],
        "never": [0, 0],
    }
    assert [row["evidence"][1]["particles"] for row in record["comparisons"]] == [6, 6, 25, 6]
    assert (controls.number, controls.false_alarms) == (8, 0)
    assert controls.largest_t2 < record["threshold"]


def test_a_trained_table_of_colourings_tells_pairs_apart(dataset: Dataset, tmp_path: Path) -> None:
    trained = Settings(steps=2, particles=32, draws=16, updates=48, controls=2)
    record = compare_pairs(dataset, tmp_path / "pairs.json", trained, "cpu")
    table, controls = summarise(record, dataset), count_controls(record)
    assert [of.by_steps[-1] for of in table] == [1, 1, 1, 0]
    assert [of.published for of in table] == [1, 1, 1, 0]
    assert [of.by_steps[0] for of in table] == [0, 0, 0, 0]  # with fewer steps nothing was trained
    assert (controls.number, controls.false_alarms) == (16, 0)
    updates = [row["evidence"][0]["updates"] for row in record["comparisons"]]
    assert updates == [16, 16, 16, 48]  # it goes on as long as the graphs do not differ


def test_the_policy_finds_the_vertices_that_show_a_difference() -> None:
    """In graphs of 36 vertices only a mark in a part of six vertices shows anything. Its degrees are its own."""
    graphs = [disjoint_union(part, circulant(30, [1, 2])) for part in (RING, TRIANGLES)]
    devices, limit = open_devices("cpu"), threshold(2, 16, 16, 1e-6)

    def t2(policy: Policy) -> float:
        return train_and_compare(graphs, 1, 4, 16, limit, 0, devices, 64, policy).published_t2

    assert t2("learned") > 5 * t2("uniform")


def test_in_the_limit(dataset: Dataset, tmp_path: Path) -> None:
    record = compare_limits(dataset, tmp_path / "limit.json", steps=2)
    assert [row["least steps"] for row in record["comparisons"]] == [0, 1, 2, None]
    assert [of.by_steps for of in summarise(record, dataset)] == [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]]


def test_a_call_goes_on_where_the_last_one_stopped(dataset: Dataset, tmp_path: Path) -> None:
    out, seen = tmp_path / "pairs.json", []
    two = Settings(steps=0, particles=8, draws=16, seeds=2)
    assert compare_pairs(dataset, out, two, "cpu", minutes=0)["comparisons"] == []
    first = compare_pairs(dataset, out, two, "cpu", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 8) for number in range(1, 9)]
    out.write_text(json.dumps({**first, "comparisons": first["comparisons"][:5]}))
    again = compare_pairs(dataset, out, two, "cpu")
    without = [[{**row, "seconds": 0} for row in record["comparisons"]] for record in (first, again)]
    assert without[0] == without[1]


def test_one_process_at_a_time_writes_a_record(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pfgnn.experiments.run_lock.ATTEMPTS", 1)
    out = tmp_path / "pairs.json"
    by = rf"process {os.getpid()} on \S+, which began at \S+ \S+, writes it; wait for it or stop it"

    def meanwhile(done: int, total: int) -> None:
        with pytest.raises(InputError, match=rf"pairs\.json must not be in use, but {by}"):
            compare_limits(dataset, out, steps=0)

    assert len(compare_limits(dataset, out, steps=0, progress=meanwhile)["comparisons"]) == 4
    assert list(tmp_path.iterdir()) == [out]
    dead = json.dumps(asdict(replace(Holder(), process=os.getppid())))  # of a process that no longer locks the file
    (tmp_path / "pairs.json.lock").write_text(dead)
    compare_limits(dataset, out, steps=0)
    assert list(tmp_path.iterdir()) == [out]


def test_a_pair_counts_only_if_every_seed_tells_it_apart_and_no_control_does(dataset: Dataset) -> None:
    def row(seed: int, t2: float, control: float) -> dict[str, object]:
        of = {"steps": 0, "particles": 1, "paths": 1, "t2": t2, "control_t2": [0.0, control], "threshold": 10.0}
        of |= {"published_t2": 10 * t2, "published_control_t2": [0.0, 10 * control]}
        return {"seed": seed, "pair": 0, "seconds": 1.0, "evidence": [of]}

    def told(*rows: dict[str, object]) -> list[int]:
        record = {"settings": {"steps": 0}, "threshold": 10.0, "comparisons": list(rows)}
        return summarise(record, dataset)[0].by_steps

    assert told(row(0, 20, 1), row(1, 30, 1)) == [1]
    assert told(row(0, 20, 1), row(1, 5, 1)) == [0]
    assert told(row(0, 20, 11)) == [0]

    def published(*rows: dict[str, object]) -> int | None:
        record = {"settings": {"steps": 0}, "threshold": 10.0, "comparisons": list(rows)}
        return summarise(record, dataset)[0].published

    assert published(row(0, 8, 7), row(1, 8, 7)) == 1
    assert published(row(0, 8, 7), row(1, 7, 7)) == 0
    assert published(row(0, 8, 8)) == 0


def test_wrong_calls_are_named(dataset: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "pairs.json"
    compare_pairs(dataset, out, Settings(steps=0, draws=16), "cpu")
    with pytest.raises(InputError, match="must be a record of the same comparison, but it has other settings"):
        compare_pairs(dataset, out, FEW._replace(steps=2), "cpu")
    record = json.loads(out.read_text())
    for wrong in (None, [5], [{"seed": 0, "pair": 0}], [{**record["comparisons"][0], "pair": 99}]):
        out.write_text(json.dumps({**record, "comparisons": wrong}))
        with pytest.raises(InputError, match="must hold the comparisons of pairs, as `pfgnn pairs` writes them"):
            compare_pairs(dataset, out, Settings(steps=0, draws=16), "cpu")
    with pytest.raises(InputError, match="graphs must have pairs to compare, but it has none"):
        compare_pairs(Dataset.from_graphs([RING], [0.0]), out, FEW, "cpu")
    with pytest.raises(InputError, match="draws must be at least 16"):
        compare_pairs(dataset, out, FEW._replace(draws=2), "cpu")
    with pytest.raises(InputError, match="policy must be one of learned, uniform"):
        compare_pairs(dataset, out, FEW._replace(policy="best"), "cpu")  # type: ignore
