"""One graph from a text or a file."""

from pathlib import Path

import numpy as np
import pytest

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.config import DataConfig
from pfgnn.experiments.needs import Needs
from pfgnn.experiments.one_graph import read_one_graph

TASK = Task("graph", 1, "l1", "mae")
PLAIN = Needs(TASK, 0, None, DataConfig("x"), reads_edges=False)
TABLE = "id,smiles\na,CCO\nb,C(C\nc,c1ccccc1\n"


def molecules() -> Needs:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    from pfgnn.data.molecules import FEATURES

    return Needs(TASK, FEATURES["ogb"].node_categories, None, DataConfig("x"), reads_edges=False)


def test_graph6_as_text_and_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "two.g6").write_text("D?{\n\nDQc\n")
    file = str(tmp_path / "two.g6")
    for text, number, edges in (("D?{", 0, 8), (">>graph6<<DQc", 0, 8), (":An", 0, 2), (file, 0, 8), (file, 1, 8)):
        found = read_one_graph(text, PLAIN, number)
        assert found.smiles is None
        assert len(found.dataset) == 1
        assert int(found.dataset.edge_counts[0]) == edges, text
        assert found.dataset.key is not None
        assert int(found.dataset.key[0]) == number  # as `predict` numbers the graphs of a file


def test_a_molecule_as_text_and_in_a_table(tmp_path: Path) -> None:
    needs = molecules()
    (tmp_path / "three.csv").write_text(TABLE)
    file = str(tmp_path / "three.csv")
    for text, number, smiles, nodes in (("CCO", 0, "CCO", 3), (file, 0, "CCO", 3), (file, 2, "c1ccccc1", 6)):
        found = read_one_graph(text, needs, number)
        assert found.smiles == smiles
        assert found.dataset.node_counts.tolist() == [nodes]
    with pytest.raises(InputError, match=r"three.csv, line 3: smiles 'C\(C' is not a valid molecule"):
        read_one_graph(file, needs, 1)


def test_a_packed_dataset(tmp_path: Path) -> None:
    arrays = {"node_counts": np.array([2, 3]), "edge_counts": np.array([0, 0]), "edges": np.zeros((2, 0), dtype=int)}
    Dataset.from_arrays("two", TASK, **arrays, y=np.zeros((2, 1))).save(tmp_path / "two.pfgnn")
    found = read_one_graph(str(tmp_path / "two.pfgnn"), PLAIN, 1)
    assert found.dataset.node_counts.tolist() == [3]


@pytest.mark.parametrize(
    ("text", "number", "sentence"),
    [
        (
            "garbage",
            0,
            "graph must be a file or a graph in graph6 or sparse6, but no file is called 'garbage', and graph6",
        ),
        ("D?{", 3, "the number of the graph must be 0 for a text, but it is 3"),
        ("two.g6", 2, "the number of the graph must be at most 1, but it is 2"),
    ],
)
def test_wrong_texts_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, number: int, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.g6").write_text("D?{\nDQc\n")
    with pytest.raises(InputError, match=sentence):
        read_one_graph(text, PLAIN, number)


def test_a_missing_file_and_a_wrong_molecule() -> None:
    for name in ("missing.g6", "missing.jsonl", "missing.csv", "missing.pfgnn"):
        with pytest.raises(FileNotFoundError):
            read_one_graph(name, PLAIN)
    with pytest.raises(
        InputError, match="graph must be a file or a SMILES, but no file is called 'C\\(C', and smiles 'C"
    ):
        read_one_graph("C(C", molecules())
