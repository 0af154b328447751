"""The command diagnose."""

import json
from pathlib import Path

import pytest
from tests.cli.process import pfgnn

from pfgnn.data import Dataset
from pfgnn.graphs import circulant, disjoint_union, to_graph6

RING, RINGS = circulant(6, [1]), disjoint_union(circulant(3, [1]), circulant(3, [1]))


@pytest.mark.slow
def test_a_packed_file_as_a_table_and_a_page(tmp_path: Path) -> None:
    Dataset.from_graphs([RING, RINGS], [0, 1], name="rings").save(tmp_path / "rings.pfgnn")
    done = pfgnn("diagnose", "rings.pfgnn", "--out", "page.md", "--processes", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1-WL cannot tell apart 1 pair of graphs that are not isomorphic." in done.stdout
    assert done.stdout.endswith("Wrote page.md.\n")
    assert (tmp_path / "page.md").read_text().startswith("# rings: does this data need more than 1-WL?")


def test_a_file_of_graphs_as_json(tmp_path: Path) -> None:
    (tmp_path / "graphs.g6").write_text(f"{to_graph6(RING)}\n{to_graph6(RINGS)}\n")
    (tmp_path / "labels.txt").write_text("0\n1\n")
    done = pfgnn("diagnose", "graphs.g6", "--labels", "labels.txt", "--json", "--processes", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["graphs"], found["pairs"], found["best"][0]["one_wl"]) == (2, 1, 0.5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graphs.g6", "labels.txt"]


def test_graphs_without_labels(tmp_path: Path) -> None:
    (tmp_path / "graphs.g6").write_text(f"{to_graph6(RING)}\n{to_graph6(RINGS)}\n{to_graph6(RING)}\n")
    done = pfgnn("diagnose", "graphs.g6", "--processes", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("1-WL cannot tell apart 1 pair of graphs that are not isomorphic.\n")
    assert "Best" not in done.stdout
    assert "target" not in done.stdout


@pytest.mark.slow
def test_a_table_of_molecules(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    (tmp_path / "own.csv").write_text("smiles,logp\nCCO,1.5\nOCC,2.5\nC,0.5\n")
    done = pfgnn("diagnose", "own.csv", "--json", "--processes", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["pairs"], found["copies"], found["conflicts"]) == (0, 1, 2)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("zink", "name must be one of csl, sr25"),
        ("missing.csv", "missing.csv: No such file or directory"),
        ("own.xyz", "own.xyz"),
        ("directed.pfgnn", "directed must have undirected graphs"),
    ],
)
def test_wrong_input_gets_one_sentence(tmp_path: Path, data: str, sentence: str) -> None:
    (tmp_path / "own.xyz").write_text("a\n")
    one = Dataset.from_graphs([RING], [0.0])
    kept = one.edges[:, one.edges[0] < one.edges[1]]
    Dataset.from_arrays(
        "directed", one.task, node_counts=one.node_counts, edge_counts=one.edge_counts // 2, edges=kept, y=one.y
    ).save(tmp_path / "directed.pfgnn")
    done = pfgnn("diagnose", data, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
