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


def test_sentences_are_not_broken_in_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "one.g6").write_text(f"{to_graph6(RING)}\nno graph\n")
    done = pfgnn("diagnose", "one.g6", "--on-error", "skip", "--processes", 1, cwd=tmp_path)
    verdict, skipped = done.stdout.splitlines()[-2:]
    assert verdict.startswith("1-WL tells all graphs apart")
    assert skipped.startswith("1 line was left out")
    assert skipped.endswith("graphs that were read.")


@pytest.mark.slow
def test_a_table_of_molecules(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    (tmp_path / "own.csv").write_text("smiles,logp\nCCO,1.5\nOCC,2.5\nC,0.5\n")
    done = pfgnn("diagnose", "own.csv", "--json", "--processes", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["pairs"], found["copies"], found["conflicts"]) == (0, 1, 2)


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "some.g6").write_text(f"{to_graph6(RING)}\nno graph\n{to_graph6(RING)}\n")
    failed = pfgnn("diagnose", "some.g6", cwd=tmp_path)
    assert (failed.returncode, "some.g6, line 2: " in failed.stderr) == (2, True)
    found = json.loads(pfgnn("diagnose", "some.g6", "--on-error", "skip", "--json", cwd=tmp_path).stdout)
    assert (found["name"], found["graphs"], found["skipped_lines"], found["copies_of"]) == ("some.g6", 2, 1, [[0, 1]])
    assert (found["level"], found["metric"]) == (None, None)
    said = pfgnn("diagnose", "some.g6", "--on-error", "skip", "--processes", 1, cwd=tmp_path).stdout
    assert "1 line was left out" in said
    assert "1: graph 1 of 0" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["graphs.g6", "--on-error", "maybe"], "--on-error must be one of fail, skip, but it is 'maybe'"),
        (["graphs.g6", "--target", "y"], "--target is for CSV files, but graphs.g6 is none; --labels names a file"),
        (["csl", "--target", "y"], "--target is for files that are converted, but csl has its own targets and parts"),
        (["graphs.g6", "--split-column", "s"], "--split-column is for CSV files, but graphs.g6 is none"),
        (["CSL"], "but it is 'CSL'; did you mean csl?"),
        (["nosuch"], "but it is 'nosuch'; there is no file of this name either"),
        (["bad.g6", "--on-error", "skip"], "bad.g6 must hold one graph per line, but 1 line cannot be read"),
    ],
)
def test_wrong_options(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    (tmp_path / "graphs.g6").write_text(f"{to_graph6(RING)}\n")
    (tmp_path / "bad.g6").write_text("no graph\n")
    done = pfgnn("diagnose", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


@pytest.mark.slow
def test_a_column_of_parts(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    rows = ["CCO,1.5,train", "nothing,1,train", "OCC,1.5,test", "C,0.5,Valid", "CC,0.7,"]
    (tmp_path / "own.csv").write_text("\n".join(["SMILES,logp,split", *rows, ""]))  # found as fit finds it
    options = ("--split-column", "split", "--on-error", "skip", "--json", "--processes", 1)
    done = pfgnn("diagnose", "own.csv", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [best["part"] for best in found["best"]] == ["all", "train", "validation", "test"]
    assert found["leaks"] == [
        {"part": "test", "also_in": "train", "graphs": 1, "of": 1, "numbers": [[1, 0]], "folds": False}
    ]
    (tmp_path / "own.csv").write_text("smiles,logp,split\nCCO,1.5,first\n")
    done = pfgnn("diagnose", "own.csv", "--split-column", "split", cwd=tmp_path)
    assert "line 2: column 'split' must be train, validation, test or empty, but it is 'first'" in done.stderr


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
