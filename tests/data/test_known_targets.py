"""Partly labelled data: every way in takes unknown targets, as NaN."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.data.dataset_samples import DOT, EDGE, NODES, PATH
from tests.data.test_convert import csv, graph6, jsonl
from tests.data.test_tu import write as write_tu
from torch_geometric.data import Data

from pfgnn.data.dataset import Dataset
from pfgnn.data.known_targets import labelled
from pfgnn.data.task import Task
from pfgnn.data.tu import read_tu

GRAPHS = [PATH, EDGE, DOT]
CLASSES = Task("graph", 3, "cross_entropy", "accuracy")
TARGETS = Task("graph", 2, "l1", "mae", ("mass", "charge"))
ALL = np.arange(3)


def same(y: object, want: list[list[float]]) -> None:
    np.testing.assert_array_equal(np.asarray(y), np.array(want))


def test_a_table_may_have_gaps(tmp_path: Path) -> None:
    found = csv(tmp_path, "smiles,mu,gap\nO,1.5,\nCO,,nan\nN,,10\n").dataset
    same(found.y, [[1.5, math.nan], [math.nan, math.nan], [math.nan, 10]])
    with pytest.raises(ValueError, match="every target must have a label in some row, but 'gap' has none"):
        csv(tmp_path, "smiles,mu,gap\nO,1.5,\nCO,,nan\n")


@pytest.mark.parametrize(("task", "texts"), [(None, "0 2  1"), ("classification", "-7 9.5  2")])
def test_a_class_may_be_unknown(tmp_path: Path, task: str | None, texts: str) -> None:
    rows = "".join(f"CO,{text}\n" for text in texts.split(" "))
    found = csv(tmp_path, "smiles,mu\n" + rows, targets=["mu"], task=task).dataset
    assert (found.task.loss, found.task.outputs) == (CLASSES.loss, CLASSES.outputs)
    same(found.y, [[0], [2], [math.nan], [1]])


def test_labels_of_graph6_and_numbers_of_json_and_tu(tmp_path: Path) -> None:
    same(graph6(tmp_path, "0.5\nnan\n2").dataset.y, [[0.5], [math.nan], [2]])
    rows = [{"num_nodes": 1, "edges": [], "y": y} for y in ([None, 1.0], [0.5, 2])]
    same(jsonl(tmp_path, *rows).dataset.y, [[math.nan, 1], [0.5, 2]])
    same(read_tu(write_tu(tmp_path / "tu", graph_attributes="nan, 1\n0.5, nan\n")).y, [[math.nan, 1], [0.5, math.nan]])


def test_objects_and_files(tmp_path: Path) -> None:
    y = [[0.5, math.nan], [math.nan, math.nan], [1.0, 2.0]]
    data = [Data(num_nodes=1, edge_index=torch.zeros(2, 0, dtype=torch.int64), y=torch.tensor([row])) for row in y]
    Dataset.from_graphs(GRAPHS, y, TARGETS).save(tmp_path / "own.pfgnn")
    opened = Dataset.open(tmp_path / "own.pfgnn")
    for found in (opened, Dataset.from_pyg(data, TARGETS), Dataset.from_pyg(opened.to_pyg(), like=opened)):
        same(found.y, y)


def test_graphs_without_any_target_are_left_out() -> None:
    found = Dataset.from_graphs(GRAPHS, [[0.5, math.nan], [math.nan, math.nan], [1.0, 2.0]], TARGETS)
    assert labelled(found, ALL, "all").tolist() == [0, 2]
    assert labelled(found, np.array([2, 1]), "train").tolist() == [2]
    with pytest.raises(
        ValueError, match=r"the part 'test' of graphs must have .* but target charge is NaN in all of its"
    ):
        labelled(found, ALL[:2], "test")
    nodes = Dataset.from_graphs(GRAPHS, [0, math.nan, math.nan, math.nan, math.nan, 1], NODES)
    assert labelled(nodes, ALL, "all").tolist() == [0, 2]
    with pytest.raises(ValueError, match="target 0 is NaN in all of its graphs"):
        labelled(nodes, ALL[1:2], "test")
    whole = Dataset.from_graphs(GRAPHS, [0, 1, 2])
    assert labelled(whole, ALL[::-1], "all").tolist() == [2, 1, 0]
