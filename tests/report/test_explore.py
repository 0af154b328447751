"""`pfgnn explore`: what it reads, what it writes, and what it refuses."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.process import pfgnn
from tests.experiments.run_samples import packed, small
from tests.report.explore_samples import hexagon_and_triangles, page_of
from typer.testing import CliRunner

from pfgnn.cli.app import app
from pfgnn.data import Dataset
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.particle_paths import particle_paths
from pfgnn.experiments.predict import load_run
from pfgnn.experiments.run import run
from pfgnn.graphs import Graph, csl, from_smiles, random_graph, to_graph6
from pfgnn.report.explore import reads_hydrogens, walk_all
from pfgnn.report.explore_input import MOST_VERTICES, read_samples


def data_of(page: Path) -> dict[str, Any]:
    """What the page's code reads."""
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    content: dict[str, Any] = json.loads(text)
    return content


def test_the_command_writes_one_file_that_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "two.g6").write_text("".join(f"{to_graph6(graph)}\n" for graph in hexagon_and_triangles()))
    done = pfgnn("explore", "two.g6", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Wrote explore.html with 2 graphs; open it in a browser.\n"
    text = (tmp_path / "explore.html").read_text()
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", text)
    first, second = data_of(tmp_path / "explore.html")["graphs"]
    assert (first["n"], first["order"], second["order"]) == (6, "12", "72")
    assert "1-WL cannot tell it from graph 1, but they are not isomorphic." in first["facts"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.g6"], "missing.g6: No such file or directory"),
        (["bad.g6"], "bad.g6, line 2: graph6 text has 3 bytes after its size"),
        (["good.g6", "--out", "page.pdf"], "out must end in .html, but it is page.pdf"),
        (["good.g6", "--run", "nowhere"], "nowhere"),
        (["large.g6"], "large.g6 must have a graph to show, but its graph has more than 200 vertices or 5000 edges"),
    ],
)
def test_wrong_input_gets_one_sentence_and_writes_nothing(
    tmp_path: Path, arguments: list[object], sentence: str
) -> None:
    (tmp_path / "bad.g6").write_text("C~\ngarb\n")
    (tmp_path / "good.g6").write_text("C~\n")
    (tmp_path / "large.g6").write_text(to_graph6(Graph.from_edges(MOST_VERTICES + 1, [])) + "\n")
    before = sorted(tmp_path.iterdir())
    done = pfgnn("explore", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_large_graphs_and_further_graphs_are_left_out_with_a_sentence(tmp_path: Path) -> None:
    dense = random_graph(150, 5001, np.random.default_rng(0))
    graphs = [csl(), Graph.from_edges(MOST_VERTICES + 1, []), dense, csl(41, 3), csl(41, 5)]
    (tmp_path / "some.g6").write_text("".join(f"{to_graph6(graph)}\n" for graph in graphs))
    samples, note = read_samples(tmp_path / "some.g6", 4)
    assert [sample.name for sample in samples] == ["graph 0", "graph 3"]
    assert [sample.number for sample in samples] == [0, 3]
    assert note == (
        "These are the first 4 of 5 graphs. 2 graphs are left out, because they have more than 200 vertices or 5000 "
        "edges."
    )


@pytest.mark.slow
def test_molecules_have_elements_bonds_and_names(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    (tmp_path / "some.smi").write_text("CC=O acetaldehyde\nc1ccccc1\n[Na+].[Cl-]\nC\n")
    samples, _ = read_samples(tmp_path / "some.smi", 10)
    assert [sample.name for sample in samples] == ["0: acetaldehyde", "1: c1ccccc1", "2: [Na+].[Cl-]", "3: C"]
    assert [sample.labels for sample in samples[::2]] == [["C", "C", "O"], ["Na", "Cl"]]
    assert samples[0].graph == from_smiles("CC=O")
    for sample in samples:
        assert sample.points is not None
        assert sample.points.shape == (sample.graph.num_nodes, 2)
        assert np.linalg.norm(sample.points, axis=1).max() <= 1 + 1e-9
    done = pfgnn("explore", "some.smi", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second, *_ = data_of(tmp_path / "explore.html")["graphs"]
    assert (first["bonds"], second["bonds"]) == ([1, 2], [4] * 6)


@pytest.mark.slow
def test_texts_of_files_cannot_become_markup(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    evil = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\u2028"
    (tmp_path / "evil<b>&.smi").write_text(f"CCO {evil}\n")
    done = pfgnn("explore", "evil<b>&.smi", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "explore.html"
    assert "<script>alert" not in page.read_text()
    assert "<img" not in page.read_text()
    assert page.read_text().count("</script>") == 2
    assert "evil&lt;b&gt;&amp;" in page.read_text().partition("</title>")[0]
    assert data_of(page)["graphs"][0]["name"].startswith("0: </script><script>alert(1)")


@pytest.mark.slow
def test_a_run_adds_its_particles(tmp_path: Path) -> None:
    trained = small(packed(tmp_path), {"epochs": 1}, model=ModelConfig(width=8, layers=1, steps=2, particles=3))
    run(trained, tmp_path / "run", device="cpu")
    (tmp_path / "two.g6").write_text("".join(f"{to_graph6(graph)}\n" for graph in hexagon_and_triangles()))
    done = pfgnn("explore", "two.g6", "--run", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content = data_of(tmp_path / "explore.html")
    assert content["run"] == "run"
    walks = particle_paths(load_run(tmp_path / "run", "cpu"), hexagon_and_triangles())
    for entry, want in zip(content["graphs"], walks, strict=True):
        assert [[particle["path"] for particle in step] for step in entry["steps"]] == [
            [particle.path for particle in step] for step in want
        ]
        assert sum(particle["weight"] for particle in entry["steps"][-1]) == pytest.approx(1, abs=1e-5)
        assert entry["prediction"].startswith("Prediction: probability of class 0 = 0.")
    assert "UserWarning" not in done.stderr
    pytest.importorskip("rdkit")
    (tmp_path / "one.smi").write_text("CCO\n")
    samples, _ = read_samples(tmp_path / "one.smi", 1)
    with pytest.raises(ValueError, match="it is read as graph6, because the run was not trained on molecules"):
        walk_all(load_run(tmp_path / "run", "cpu"), samples)


def test_a_run_computes_with_as_many_threads_as_other_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int | None] = []
    monkeypatch.setattr("pfgnn.cli.explore.use_threads", given.append)
    (tmp_path / "one.g6").write_text(f"{to_graph6(csl())}\n")
    options = ["--run", "csl", "--out", str(tmp_path / "page.html")]
    assert CliRunner().invoke(app, ["explore", str(tmp_path / "one.g6"), *options]).exit_code == 0
    assert given == [None]


@pytest.mark.slow
def test_hydrogens_are_vertices_if_the_model_reads_them(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    data = Dataset.from_smiles(["C", "CO", "N", "CC"], y=[1.0, 2.0, 3.0, 4.0], features="qm9")
    parts = {"train": np.arange(2), "validation": np.array([2]), "test": np.array([3])}
    replace(data, splits=parts).save(tmp_path / "small.pfgnn")
    run(small(tmp_path / "small.pfgnn", {"epochs": 1}), tmp_path / "run", device="cpu")
    trained = load_run(tmp_path / "run", "cpu")
    assert reads_hydrogens(trained)
    (tmp_path / "some.smi").write_text("CO\nN\n")
    samples, _ = read_samples(tmp_path / "some.smi", 2, hydrogens=True)
    assert [sample.labels for sample in samples] == [["C", "O", "H", "H", "H", "H"], ["N", "H", "H", "H"]]
    assert [sample.graph.num_edges for sample in samples] == [5, 3]
    assert trained.prepare(["CO", "N"]).node_counts.tolist() == [6, 4]
    assert [len(walked.steps) for walked in walk_all(trained, samples)] == [1, 1]


def test_a_page_is_the_same_when_it_is_written_again(tmp_path: Path) -> None:
    pages = [page_of(tmp_path / f"{name}.html", hexagon_and_triangles()) for name in "ab"]
    assert pages[0].read_bytes() == pages[1].read_bytes()
