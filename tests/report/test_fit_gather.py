"""What the page reads from a model folder."""

import csv
from pathlib import Path

import numpy as np
import pytest

from pfgnn.data import Dataset
from pfgnn.data.convert import convert
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.model_folder import PARTS
from pfgnn.graphs import Graph
from pfgnn.report.fit_gather import find_classes, find_target, read_smiles, read_test

NUMBER = Task("graph", 1, "l1", "mae")
NOISE = '"predicted logp, Monte Carlo standard error"'


def test_the_predictions_of_the_test_part(tmp_path: Path) -> None:
    """A column of the input may have the name of an output; and a prediction may be missing."""
    rows = f"graph,smiles,predicted logp,true logp,predicted logp,{NOISE}\n7,CCO,99,1.5,1.25,0.5\n3,C,99,,2,\n"
    (tmp_path / "test.csv").write_text(rows)
    found = read_test(tmp_path / "test.csv", ["predicted logp"])
    assert found.graphs.tolist() == [7, 3]
    assert found.mean.tolist() == [[1.25], [2.0]]
    np.testing.assert_array_equal(found.error, [[0.5], [np.nan]])


@pytest.mark.parametrize("content", ["", "graph,predicted logp\n", f"graph,predicted logp,{NOISE}\n1,a,b\n"])
def test_a_damaged_table_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "test.csv").write_text(content)
    with pytest.raises(InputError, match=r"test\.csv must be the predictions of a test part"):
        read_test(tmp_path / "test.csv", ["predicted logp"])


@pytest.mark.parametrize(
    ("columns", "cells", "labels"),
    [
        ("graph,smiles", ["7,CCO", "3,C"], []),
        ("graph,line,smiles", ["7,9,CCO", "3,5,C"], ["line 9", "line 5"]),
        ("graph,smiles,compound_id", ["7,CCO,CPD-7", "3,C,"], ["CPD-7", ""]),
        ("graph,line,id,smiles", ["7,9,CPD-7,CCO", "3,5,,C"], ["CPD-7 (line 9)", "line 5"]),
    ],
)
def test_graphs_are_called_as_in_the_input(tmp_path: Path, columns: str, cells: list[str], labels: list[str]) -> None:
    rows = "".join(f"{of},1.25,0.5\n" for of in cells)
    (tmp_path / "test.csv").write_text(f"{columns},predicted logp,{NOISE}\n{rows}")
    assert list(read_test(tmp_path / "test.csv", ["predicted logp"]).labels) == labels


@pytest.mark.parametrize("name", ["kind", "a 'b'", "kind, as you chose"])
def test_the_target_of_classes_has_the_name_of_its_column(tmp_path: Path, name: str) -> None:
    """As the reader of files tells which column it takes, by itself or by name."""
    pytest.importorskip("rdkit", reason="needs the extra chem")
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", name), *(("C" * (n + 1), "red" if n % 2 else "blue") for n in range(8))])
    for targets in (None, [name]):
        dataset = convert(tmp_path / "a.csv", targets=targets).dataset
        assert find_target(dataset, dataset.about["target column"]) == name
    assert find_target(dataset, "") == ""
    numbers = Dataset.from_graphs([Graph.from_edges(2, [(0, 1)])], np.zeros((1, 1)), NUMBER)
    assert find_target(numbers, "logp, as you chose") == ""


def test_smiles_are_read_if_there_are_any(tmp_path: Path) -> None:
    (tmp_path / PARTS).write_text("graph,part,smiles,true y\n0,train,CCO,1\n1,,C,2\n")
    assert read_smiles(tmp_path) == ["CCO", "C"]
    (tmp_path / PARTS).write_text("graph,part,true smiles\n0,train,1\n")
    assert read_smiles(tmp_path) == []


def test_classes_of_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    ring, turned = (
        Graph.from_edges(4, edges) for edges in ([(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (2, 1), (1, 3), (3, 0)])
    )
    six = Graph.from_edges(6, [(i, (i + 1) % 6) for i in range(6)])
    two = Graph.from_edges(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    dataset = Dataset.from_graphs([ring, turned, six, two], np.zeros((4, 1)), NUMBER)
    classes, wl_classes = find_classes(dataset)
    assert classes is not None
    assert wl_classes is not None
    assert classes[0] == classes[1]
    assert len(set(classes.tolist())) == 3
    assert wl_classes[2] == wl_classes[3] != wl_classes[0]
    arrays = {"node_counts": np.array([2]), "edge_counts": np.array([1]), "edges": np.array([[0], [1]])}
    assert find_classes(Dataset.from_arrays("directed", NUMBER, **arrays, y=np.zeros((1, 1)))) == (None, None)
    monkeypatch.setattr("pfgnn.report.fit_gather.MOST_GRAPHS", 3)
    assert find_classes(dataset) == (None, None)
