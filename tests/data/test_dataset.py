"""The dataset: what it refuses, where it comes from, and that a file brings it back."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.data.dataset_samples import DOT, EDGE, NODES, PATH, TASK, Y, example

from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.graphs import Graph, random_graph


def assert_same(got: Dataset, want: Dataset) -> None:
    assert (got.name, got.task, got.about) == (want.name, want.task, want.about)
    assert (got.node_categories, got.edge_categories) == (want.node_categories, want.edge_categories)
    for mine, theirs in ((got.arrays(), want.arrays()), (dict(got.splits), dict(want.splits))):
        assert mine.keys() == theirs.keys()
        for name, array in mine.items():
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)
            assert array.shape == theirs[name].shape
            assert array.dtype == theirs[name].dtype


def test_the_arrays_of_the_example() -> None:
    dataset = example()
    assert len(dataset) == 3
    assert dataset.node_counts.tolist() == [3, 2, 1]
    assert dataset.edge_counts.tolist() == [4, 2, 0]
    assert dataset.edges.tolist() == [[1, 0, 2, 1, 1, 0], [0, 1, 1, 2, 0, 1]]  # sorted by target, then source
    assert dataset.edge_attr is not None
    assert dataset.edge_attr[:, 0].tolist() == [3, 3, 1, 1, 2, 2]
    assert dataset.edges.dtype == dataset.edge_attr.dtype == np.uint8


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_graph_comes_back(number: int) -> None:
    assert example().graph(number) == [PATH, EDGE, DOT][number]


def test_random_graphs_come_back() -> None:
    graphs = [random_graph(n, n * (n - 1) // 4, np.random.default_rng(n)) for n in range(1, 12)]
    dataset = Dataset.from_graphs(graphs, np.arange(11))
    assert [dataset.graph(number) for number in range(11)] == graphs
    assert dataset.key is not None
    assert dataset.key.tolist() == list(range(11))


def test_a_directed_graph_is_no_graph() -> None:
    one_way = example(edges=np.array([[1, 0, 1, 2, 1, 0], [0, 1, 1, 1, 0, 1]]))
    with pytest.raises(ValueError, match="without its reverse"):
        one_way.graph(0)
    with pytest.raises(ValueError, match=r"graphs must lie in 0..2, but it spans 3..3"):
        one_way.graph(3)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"node_counts": np.array([], dtype=int)}, "the dataset example must have at least one graph, but it is empty"),
        ({"node_counts": np.array([3, 0, 3])}, "every graph must have a node, but graph 1 has none"),
        ({"edge_counts": np.array([4, 2])}, "edge_counts must have one row for each of 3 graphs, but it has 2"),
        ({"key": np.arange(4)}, "key must have one row for each of 3 graphs, but it has 4"),
        ({"y": Y[:2]}, "y must have one row for each of 3 graphs, but it has 2"),
        ({"y": Y[:, 0]}, r"y must have 2 axes, but it has shape \[3\]"),
        ({"y": Y, "task": NODES}, "y must have one row for each of 6 nodes, but it has 3"),
        ({"x": np.zeros((5, 2))}, "x must have one row for each of 6 nodes, but it has 5"),
        ({"x": np.zeros((6, 3))}, "node_categories must have one entry for each of 3 columns of x, but has 2"),
        ({"x": None}, "node_categories must have one entry for each of 0 columns of x, but has 2"),
        ({"edge_categories": (4, 4)}, "edge_categories must have one entry for each of 1 columns of edge_attr"),
        ({"edge_attr": np.zeros((5, 1))}, "edge_attr must have one row for each of 6 edges, but it has 5"),
        ({"pos": np.zeros((7, 3))}, "pos must have one row for each of 6 nodes, but it has 7"),
        ({"edges": np.zeros((2, 5))}, r"edges must have shape \[2, 6\], but it has \[2, 5\]"),
        ({"edges": np.zeros((6, 2))}, r"edges must have shape \[2, 6\], but it has \[6, 2\]"),
        ({"splits": {"test": np.array([0, 3])}}, r"the split 'test' must lie in 0..2, but it spans 0..3"),
        ({"splits": {"test": np.array([-1])}}, r"the split 'test' must lie in 0..2, but it spans -1..-1"),
        ({"pairs": np.array([[0, 3]])}, r"pairs must lie in 0..2, but it spans 0..3"),
    ],
)
def test_what_does_not_fit_gets_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        example(**changes)


def test_a_split_must_hold_numbers() -> None:
    with pytest.raises(TypeError, match=r"the split 'mask' must be a 1-D array of graph numbers, .* dtype bool"):
        example(splits={"mask": np.array([True, False, True])})


@pytest.mark.parametrize(
    ("y", "error", "sentence"),
    [
        (["a", "b", "c"], TypeError, "y must hold numbers, but it has dtype <U1"),
        ([1, None, 2], TypeError, "y must hold numbers, but it has dtype object"),
        ([math.nan] * 3, ValueError, "y must have a value of every target, but target 0 is NaN in all rows"),
        ([[1, math.nan]] * 3, ValueError, "y must have a value of every target, but target 1 is NaN in all rows"),
        ([0.5, math.inf, 1], ValueError, "y must be finite, or NaN if unknown, but graph 1 has inf"),
        ([[1], [1, 2], [3]], ValueError, "y must have rows of the same length, but they differ"),
        (5, ValueError, r"y must have shape \[R\] or \[R, C\], but it has \[\]"),
        ([0, 1], ValueError, "y must have one row for each of 3 graphs, but it has 2"),
    ],
)
def test_bad_targets_get_one_sentence(y: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        Dataset.from_graphs([PATH, EDGE, DOT], y)


def test_mixed_features_and_no_graphs_get_one_sentence() -> None:
    wide = Graph.from_edges(1, [], [[1, 2, 3]], np.zeros((0, 1), dtype=np.int64))
    with pytest.raises(ValueError, match=r"x must be there for all .* but 2 of 2 graphs have it, with \[2, 3\] col"):
        Dataset.from_graphs([DOT, wide], [0, 1])
    with pytest.raises(ValueError, match=r"x must be there for all .* but 1 of 2 graphs have it, with \[2\] columns"):
        Dataset.from_graphs([DOT, Graph.from_edges(1, [])], [0, 1])
    with pytest.raises(ValueError, match="the dataset graphs must have at least one graph, but it is empty"):
        Dataset.from_graphs([], [])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"edges": np.array([[0, 2], [1, 0]])}, r"edges must join nodes 0..1 in graph 1, but it has the edge \(2, 0\)"),
        ({"edges": np.array([[0, -1], [1, 0]])}, r"edges must join nodes 0..1 in graph 1, but it has the edge \(-1, 0"),
        ({"edges": np.array([[0], [1]])}, r"edges must have shape \[2, 2\], but it has \[2, 1\]"),
        ({"edge_attr": np.zeros((3, 1))}, "edge_attr must have one row for each of 2 edges, but it has 3"),
        ({"edge_counts": np.array([1, 1, 0])}, "edge_counts must have one row for each of 2 graphs, but it has 3"),
    ],
)
def test_bad_arrays_get_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    parts: dict[str, Any] = {
        "node_counts": np.array([3, 2]),
        "edge_counts": np.array([1, 1]),
        "edges": np.array([[0, 0], [1, 1]]),
        "y": np.zeros((2, 2)),
    }
    assert len(Dataset.from_arrays("good", TASK, **parts)) == 2
    with pytest.raises(ValueError, match=sentence):
        Dataset.from_arrays("bad", TASK, **{**parts, **changes})


@pytest.mark.parametrize("level", ["graph", "node"])
def test_a_subset_equals_a_loop(level: str) -> None:
    whole = example() if level == "graph" else example(task=NODES, y=np.arange(6)[:, None] % 2)
    chosen = [2, 0, 0, 1]
    part = whole.subset(chosen)
    nodes = [range(0, 3), range(3, 5), range(5, 6)]
    edges = [range(0, 4), range(4, 6), range(6, 6)]
    assert whole.x is not None
    assert whole.pos is not None
    assert whole.edge_attr is not None
    assert whole.key is not None
    rows = [row for g in chosen for row in nodes[g]]
    columns = [column for g in chosen for column in edges[g]]
    want = Dataset(
        "example",
        whole.task,
        node_counts=whole.node_counts[chosen],
        edge_counts=whole.edge_counts[chosen],
        edges=whole.edges[:, columns],
        y=whole.y[rows if level == "node" else chosen],
        x=whole.x[rows],
        pos=whole.pos[rows],
        edge_attr=whole.edge_attr[columns],
        key=whole.key[chosen],
        node_categories=(2, 3),
        edge_categories=(4,),
        about=whole.about,
    )
    assert_same(part, want)


def test_a_subset_that_is_empty_or_beyond_is_refused() -> None:
    with pytest.raises(ValueError, match="the dataset example must have at least one graph, but it is empty"):
        example().subset([])
    with pytest.raises(ValueError, match=r"graphs must lie in 0..2, but it spans 0..3"):
        example().subset([0, 3])


def test_a_number_gives_a_graph_and_several_give_a_dataset() -> None:
    dataset = example()
    graphs = dataset.to_pyg()
    for number in (0, 2, -1, np.int64(1)):
        got, want = dataset[number], graphs[number]
        assert all(torch.equal(got[key], want[key]) for key in ("x", "edge_index", "edge_attr", "y", "pos"))
    for several in (slice(0, 2), [0, 1], np.array([0, 1])):
        assert_same(dataset[several], dataset.subset([0, 1]))
    assert len(dataset[::2]) == 2
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=rf"the graph number must lie in 0\.\.2, but it is {wrong}"):
            dataset[wrong]
    with pytest.raises(TypeError):
        dataset["train"]


def test_a_loop_goes_through_all_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfgnn.data.dataset.GRAPHS_AT_ONCE", 2)
    sizes = [graph.num_nodes for graph in example()]
    assert sizes == [3, 2, 1]


def test_its_name_and_counts_take_one_line() -> None:
    assert repr(example()) == "Dataset(example: 3 graphs, 6 nodes, 6 edges; graph level, 2 outputs)"


def test_bare_edges() -> None:
    bare = example().without_edge_features()
    assert bare.edge_attr is None
    assert bare.edge_channels is None
    np.testing.assert_array_equal(bare.edges, example().edges)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"task": NODES, "y": np.array([[0, 1, 1, 0, 0, 1]], dtype=np.uint8).T},
        {"task": Task("pair", 16, "none", "pairs"), "y": np.array([[0], [1], [2]], dtype=np.uint8)},
        {"x": None, "edge_attr": None, "pos": None, "pairs": None, "node_categories": None, "edge_categories": None},
        {"x": np.random.default_rng(0).random((6, 4)), "node_categories": None, "splits": {}, "about": {}},
    ],
    ids=["everything", "node level", "pairs", "bare", "continuous"],
)
def test_a_saved_dataset_comes_back(tmp_path: Path, changes: dict[str, Any]) -> None:
    dataset = example(**changes)
    dataset.save(tmp_path / "set.pfgnn")
    again = Dataset.open(str(tmp_path / "set.pfgnn"))
    assert_same(again, dataset)
    again.save(tmp_path / "set.pfgnn")  # over the file that is mapped
    assert_same(Dataset.open(tmp_path / "set.pfgnn"), dataset)


def test_a_damaged_dataset_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "set.pfgnn"
    example().save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"set.pfgnn is truncated or damaged"):
        Dataset.open(path)
