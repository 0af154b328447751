"""Datasets from networkx, graph6, SMILES and lists, and what is guessed of them."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.data.dataset_samples import EDGE, NODES, PATH, TASK, Y, example

from pfgnn.data.arrays import Array, as_targets, guess_task, shrink
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Loader
from pfgnn.data.molecules import FEATURES
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.graphs import Graph, random_graph, to_graph6
from pfgnn.graphs.arrays import stack
from pfgnn.model import GIN, GINE, PFGNN


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([0, 255], np.uint8),
        ([-1, 127], np.int8),
        ([-1, 128], np.int16),
        ([256], np.int16),
        ([2**15], np.int32),
        ([-(2**31)], np.int32),
        ([2**31], np.int64),
        ([True, False], np.uint8),
        ([0.5, 1.0], np.float64),
    ],
)
def test_integers_shrink_and_floats_stay(values: list[Any], dtype: type) -> None:
    small = shrink(np.array(values))
    assert small.dtype == dtype
    assert small.tolist() == values
    assert shrink(small).dtype == dtype


def test_integers_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match=f"integers must be below 2\\*\\*63, but one is {2**64 - 1}"):
        shrink(np.array([1, 2**64 - 1], dtype=np.uint64))


def test_empty_arrays_shrink_to_int64_or_stay() -> None:
    assert shrink(np.zeros((2, 0), dtype=np.uint8)).dtype == np.int64
    assert shrink(np.zeros(0, dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([0, 1, 2, 1], Task("graph", 3, "cross_entropy", "accuracy")),
        ([True, False], Task("graph", 2, "cross_entropy", "accuracy")),
        ([-1, 1], Task("graph", 1, "l1", "mae")),
        ([0.0, 1.0], Task("graph", 1, "l1", "mae")),
        ([[0, 1], [1, 0]], Task("graph", 2, "l1", "mae")),
    ],
)
def test_the_task_is_guessed(y: Any, task: Task) -> None:
    assert guess_task(as_targets(y)) == task


def test_stack_keeps_columns_where_there_are_no_rows() -> None:
    empty: Array = np.zeros((0, 2))
    assert stack("x", [None, None]) is None
    stacked = stack("x", [empty, empty])
    assert stacked is not None
    assert stacked.shape == (0, 2)


def test_from_networkx() -> None:
    first, second = nx.path_graph(3), nx.Graph()
    for node in first:
        first.nodes[node]["kind"] = node
    nx.set_edge_attributes(first, 5, "bond")
    second.add_node("a", kind=7)
    dataset = Dataset.from_networkx([first, second], [1, 0], ["kind"], ["bond"], name="mine")
    assert (dataset.name, dataset.task.outputs) == ("mine", 2)
    assert dataset.graph(0) == Graph.from_edges(3, [(0, 1), (1, 2)], [[0], [1], [2]], [[5], [5]])
    assert dataset.graph(1) == Graph.from_edges(1, [], [[7]], np.zeros((0, 1)))


def test_from_graph6(tmp_path: Path) -> None:
    graphs = [random_graph(n, n - 1, np.random.default_rng(n)) for n in (4, 1, 9)]
    (tmp_path / "three.g6").write_text("".join(to_graph6(graph) + "\n" for graph in graphs))
    dataset = Dataset.from_graph6(tmp_path / "three.g6", [0.5, 1.5, 2.5])
    assert [dataset.graph(number) for number in range(3)] == graphs
    with pytest.raises(ValueError, match="y must have one row for each of 3 graphs, but it has 2"):
        Dataset.from_graph6(tmp_path / "three.g6", [0, 1])


@pytest.mark.parametrize("features", sorted(FEATURES))
def test_from_smiles(features: str) -> None:
    pytest.importorskip("rdkit")
    smiles = ["CCO", "C", "C=C"]
    dataset = Dataset.from_smiles(smiles, [0.5, 1.5, 2.5], features)
    known = FEATURES[features]
    assert (dataset.in_channels, dataset.edge_channels) == (known.node_categories, known.edge_categories)
    for number, text in enumerate(smiles):
        molecule = known.featurise(text)
        order = np.lexsort(molecule.edge_index)
        one = dataset.subset([number])
        np.testing.assert_array_equal(one.x, molecule.x)
        np.testing.assert_array_equal(one.edges, molecule.edge_index[:, order])
        np.testing.assert_array_equal(one.edge_attr, molecule.edge_attr[order])


def test_bad_molecules_are_named_by_their_position() -> None:
    pytest.importorskip("rdkit")
    with pytest.raises(ValueError, match=r"molecule 1 \(counted from 0\) cannot be used: smiles 'C\(' is not a valid"):
        Dataset.from_smiles(["C", "C(", "O"], [0, 1, 0])
    with pytest.raises(ValueError, match=r"features must be one of .*, but it is 'none'"):
        Dataset.from_smiles(["C"], [0], "none")
    with pytest.raises(ValueError, match="y must have one row for each of 2 graphs, but it has 1"):
        Dataset.from_smiles(["C", "O"], [0])
    with pytest.raises(ValueError, match="the dataset molecules must have at least one graph, but it is empty"):
        Dataset.from_smiles([], [])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"task": NODES, "y": np.array([[0, 1, 1, 0, 0, 1]]).T},
        {"x": np.random.default_rng(0).random((6, 4)), "node_categories": None},
        {"x": None, "node_categories": None, "edge_attr": np.ones((6, 2)), "edge_categories": None},
        {"x": None, "node_categories": None, "edge_attr": None, "edge_categories": None},
    ],
    ids=["categories", "node level", "continuous", "continuous edges", "bare"],
)
def test_a_model_is_built_and_run_as_the_dataset_says(changes: dict[str, Any]) -> None:
    dataset = example(**changes)
    model = PFGNN.paper(
        GINE(8, 2) if dataset.edge_attr is not None else GIN(8, 2),
        dataset.task.outputs,
        in_channels=dataset.in_channels,
        edge_channels=dataset.edge_channels,
        steps=1,
        particles=2,
        level=dataset.task.level,
    )
    [batch] = Loader(dataset, batch_size=3)
    out, y = model(batch), batch.tensors()["y"]
    assert out.prediction.shape == (len(y), dataset.task.outputs)
    if dataset.task is NODES:
        loss = torch.nn.functional.cross_entropy(out.prediction, y[:, 0])
    else:
        loss = torch.nn.functional.l1_loss(out.prediction, y.to(out.prediction.dtype))
    loss.backward()


def test_integers_with_gaps_are_numbers_and_not_classes() -> None:
    assert guess_task(np.array([[350], [120]])) == Task("graph", 1, "l1", "mae")


def test_splits_may_be_lists(tmp_path: Path) -> None:
    dataset = Dataset.from_graphs([PATH, EDGE], Y[:2], TASK, splits={"train": [0], "test": [1]})
    dataset.save(tmp_path / "own.pfgnn")
    assert Dataset.open(tmp_path / "own.pfgnn").splits["test"].tolist() == [1]


def test_one_string_is_not_a_sequence_of_smiles() -> None:
    with pytest.raises(TypeError, match="smiles must be a sequence, such as a list, but it is a str"):
        Dataset.from_smiles("CCO", [1.0])
