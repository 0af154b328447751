"""The command line as a user meets it: a process, its output and its exit status."""

import json
from inspect import signature
from math import factorial
from pathlib import Path

import pytest
from tests.cli.process import pfgnn

from pfgnn.cli.demo import demo
from pfgnn.experiments.demo import run_demo
from pfgnn.graphs import Graph, to_sparse6
from pfgnn.model.registries import SETTINGS


@pytest.mark.slow
def test_demo_prints_a_table_and_writes_record_and_pictures(tmp_path: Path) -> None:
    done = pfgnn("demo", "--out", tmp_path / "out", "--updates", 1, "--particles", 2, "--steps", 1)
    assert done.returncode == 0, done.stderr
    assert "PF-GNN on GIN" in done.stdout
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        *("csl.pfgnn", "gin", "learning_curve.png", "pf-gnn", "record.json", "walk.png"),
    ]
    record = json.loads((tmp_path / "out" / "record.json").read_text())
    assert list(record) == ["GIN", "PF-GNN on GIN"]
    assert record["PF-GNN on GIN"]["config"]["model"]["particles"] == 2
    assert {"commit", "torch", "device"} <= record["GIN"].keys()


def test_inspect_prints_facts_and_draws(tmp_path: Path) -> None:
    (tmp_path / "pair.g6").write_text("EhEG\nE{Sw\n")
    done = pfgnn("inspect", tmp_path / "pair.g6", "--tree", tmp_path / "tree.png", "--depth", 1)
    assert done.returncode == 0, done.stderr
    assert "symmetries" in done.stdout
    assert (tmp_path / "tree.png").exists()


def test_inspect_never_cuts_a_number_and_shows_the_first_graphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "empty.s6").write_text(f"{to_sparse6(Graph.from_edges(100, []))}\nA_\nA_\n")
    done = pfgnn("inspect", tmp_path / "empty.s6", "--graphs", 2)
    assert done.returncode == 0, done.stderr
    header, first, second, note = done.stdout.splitlines()
    assert header.split()[-1] == "symmetries"
    assert first.split() == ["0", "100", "0", "1", "1", "1", "1", str(factorial(100))]
    assert second.split()[-1] == "2"
    assert note == "These are the first 2 of 3 graphs; --graphs shows more."


def test_inspect_lowers_the_depth_of_a_tree(tmp_path: Path) -> None:
    (tmp_path / "one.g6").write_text("E???\n")
    done = pfgnn("inspect", "one.g6", "--tree", "tree.png", "--depth", 40, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Wrote tree.png down to level 5 instead of 40." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["demo", "--particles", 0], "particles must be at least 1, but it is 0"),
        (["demo", "--particles", 10**6], "particles must be at most 10000, but it is 1000000"),
        (["demo", "--steps", 10**20], "steps must be at most 100, but it is 100000000000000000000"),
        (["predict", "run", "new.g6", "--particles", 10**6], "particles must be at most 10000, but it is 1000000"),
        (["predict", "run", "new.g6", "--draws", 10**9], "draws must be at most 10000, but it is 1000000000"),
        (["demo", "--seed", -1], "seed must lie in 0..2**63 - 1, but it is -1"),
        (["demo", "--steps", 0], "steps must be at least 1, but it is 0"),
        (["inspect", "missing.g6"], "missing.g6: No such file or directory"),
        (["inspect", "bad.g6"], "bad.g6, line 2: graph6 text has 3 bytes after its size"),
        (["inspect", "bad.smi"], "bad.smi, line 3: smiles 'C(C' is not a valid molecule"),
        (["inspect", "graphs.xyz"], "must end in one of .g6, .s6, .smi, .smiles"),
        (["demo", "--out", "bad.g6/out"], "bad.g6 is a file"),
    ],
)
def test_wrong_input_gets_one_sentence_status_2_and_no_traceback(
    tmp_path: Path, arguments: list[object], sentence: str
) -> None:
    (tmp_path / "bad.g6").write_text("C~\ngarb\n")
    (tmp_path / "bad.smi").write_text("CCO\nc1ccccc1\nC(C\n")
    if arguments[1] == "bad.smi":
        pytest.importorskip("rdkit", reason="needs the extra chem")
    done = pfgnn(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("pfgnn: ")


def test_unknown_options_are_refused() -> None:
    done = pfgnn("demo", "--partcles", 3)
    assert done.returncode == 2
    assert "No such option" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_demos_options_have_the_defaults_of_its_function() -> None:
    options = {name: p.default for name, p in signature(demo).parameters.items() if name not in ("out", "threads")}
    assert options == {name: signature(run_demo).parameters[name].default for name in options}


def test_parts_lists_every_registered_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    said = pfgnn("parts").stdout
    for setting, registry in SETTINGS.items():
        assert f"model.{setting}" in said
        for name, made in registry.items():
            assert name in said
            assert made.__name__ in said
