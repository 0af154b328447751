"""The command explain."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.experiments.run_samples import TARGETS, packed, small
from typer.testing import CliRunner

from pfgnn.cli.app import app
from pfgnn.cli.explain import _tied
from pfgnn.errors import InputError
from pfgnn.experiments.run import run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    run(small(packed(folder, TARGETS), {"epochs": 1}), folder / "run", device="cpu")
    return folder / "run"


def call(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in ("explain", *arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_prints_a_table_and_writes_csv_and_svg(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = call(finished, "D?{", "--draws", 3, "--output", "predicted b", "--device", "cpu")
    assert "predicted b: " in printed
    assert "Wrote explanation.csv and explanation.svg." in printed
    assert "--output shows another one of 3 outputs, such as 'predicted a'." in printed
    header, *rows = list(csv.reader((tmp_path / "explanation.csv").read_text().splitlines()))
    assert header[:5] == ["part", "vertex", "other end", "importance for predicted a", "predicted a, " + header[4][13:]]
    assert [row[:3] for row in rows] == [
        *(["vertex", str(v), ""] for v in range(5)),
        *(["edge", str(u), "4"] for u in range(4)),
    ]
    assert all(float(cell) is not None for row in rows for cell in row[3:])
    ElementTree.parse(tmp_path / "explanation.svg")


def test_json_for_programs_leaves_no_other_files(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = json.loads(call(finished, "D?{", "--draws", 2, "--json", "--picture", "own.svg", "--device", "cpu"))
    assert found["outputs"] == ["predicted a", "predicted b", "predicted c"]
    assert [part["vertex"] for part in found["vertices"]] == list(range(5))
    assert [part["ends"] for part in found["edges"]] == [[u, 4] for u in range(4)]
    assert len(found["edges"][0]["importance"]) == len(found["edges"][0]["error"]) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["own.svg"]
    (tmp_path / "one.g6").write_text("@\n")  # a graph of one vertex, which cannot be removed
    alone = json.loads(call(finished, "one.g6", "--draws", 2, "--json", "--device", "cpu"))
    assert alone["vertices"] == [{"vertex": 0, "importance": [None] * 3, "error": [None] * 3}]


def test_the_picture_is_beside_the_table(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call(finished, "D?{", "--draws", 2, "--out", "q/x.csv", "--device", "cpu")
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["x.csv", "x.svg"]
    assert (tmp_path / "q" / "x.svg").exists()


@pytest.mark.parametrize(
    ("out", "kind", "said"),
    [
        ("x.html", InputError, "out must end in .csv, but it is x.html"),
        ("taken/x.csv", NotADirectoryError, "Not a directory: 'taken/x.csv'"),
    ],
)
def test_a_wrong_out_is_refused_before_the_model_is_read(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, kind: type[Exception], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pfgnn.experiments.predict.load_run", None)
    (tmp_path / "taken").touch()
    with pytest.raises(kind, match=said):
        call(finished, "D?{", "--out", out)


def test_one_vertex_gets_a_sentence(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = call(finished, "@", "--device", "cpu")
    assert "No part of this graph can be removed" in printed
    assert "nan" not in printed
    assert "Warning: this graph is unlike the training graphs (smaller than all training graphs)" in printed


def test_nothing_random_is_told_as_exact(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = " ".join(call(finished, "D?{", "--particles", 9, "--device", "cpu").split())  # a star of 5 vertices
    assert ", without noise of draws" in printed.splitlines()[0]
    assert "Nothing is random: the particles go through all paths" in printed
    assert "have the same importance but for rounding" in printed
    assert "--draws" not in printed
    drawn = " ".join(call(finished, "D?{", "--particles", 2, "--device", "cpu").split())
    assert "exact" not in drawn.lower()
    assert "More --draws" in drawn


def test_what_is_only_rounding() -> None:
    assert _tied([0.3, 0.3 + 1e-9, 0.2, -0.1, -0.1, -0.1], 0.5) == "1 to 2, 4 to 6"
    assert _tied([0.3, 0.2], 0.5) == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["D?{", "--output", "logp"], "output must be one of predicted a, predicted b, predicted c, but it is 'logp'"),
        (["nothing"], "graph must be a file or a graph in graph6 or sparse6, but no file is called 'nothing'"),
        (["D?{", "--node", "1"], "node must be given for a run at node level only, but it is 1"),
    ],
)
def test_wrong_input_gets_one_sentence_and_writes_nothing(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=sentence):
        call(finished, *arguments, "--draws", 2, "--device", "cpu")
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_target_is_enough_and_no_noise_needs_no_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one step and a particle for each vertex nothing is left to chance, up to rounding errors."""
    config = small(packed(tmp_path, TARGETS), {"epochs": 1})
    model = replace(config.model, steps=1, sampling="distinct")
    run(replace(config, model=model), tmp_path / "run", device="cpu")
    monkeypatch.chdir(tmp_path)
    printed = call(tmp_path / "run", "D?{", "--draws", 3, "--particles", 8, "--output", "b", "--device", "cpu")
    assert "predicted b: " in printed
    assert ", without noise of draws\n" in printed
    assert "More --draws" not in printed
