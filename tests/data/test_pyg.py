"""To PyG and back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.loader import DataLoader

from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task

CLASSES = Task("graph", 3, "cross_entropy", "accuracy")
NODES = Task("node", 2, "cross_entropy", "accuracy")
EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def example(task: Task = CLASSES, **changes: Any) -> Dataset:
    """A directed triangle with a loop, a single node, and an edge."""
    parts: dict[str, Any] = {
        "x": np.array([[300, 1], [0, -2], [5, 5], [6, 6], [7, 7], [8, 8]]),
        "edge_attr": np.arange(12, dtype=np.float32).reshape(6, 2),
        "pos": np.linspace(0, 1, 18).reshape(6, 3),
        "y": np.array([[1], [0], [2]]) if task.level == "graph" else np.array([[0, 1, 1, 0, 0, 1]]).T,
        "splits": {"train": np.array([0, 2])},
        **changes,
    }
    return Dataset.from_arrays(
        "example",
        task,
        node_counts=np.array([3, 1, 2]),
        edge_counts=np.array([4, 0, 2]),
        edges=np.array([[0, 1, 2, 2, 0, 1], [1, 2, 0, 2, 1, 0]]),
        **parts,
    )


def graph(**changes: Any) -> Data:
    return Data(**{"x": torch.ones(3, 2), "edge_index": EDGES, "y": torch.tensor([1]), **changes})


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        (CLASSES, {}),
        (NODES, {}),
        (CLASSES, {"x": None, "edge_attr": None, "pos": None}),
        (CLASSES, {"key": np.array([5, -1, 2**40])}),
        (Task("graph", 2, "l1", "mae"), {"y": np.array([[0.5, 1], [2, 3], [4, 5]], dtype=np.float32)}),
        (Task("graph", 2, "l1", "mae"), {"x": np.random.default_rng(0).random((6, 1)), "y": np.ones((3, 2))}),
    ],
    ids=["graph level", "node level", "bare", "keys", "float32", "float64"],
)
def test_to_pyg_and_back_is_the_identity(task: Task, changes: dict[str, Any]) -> None:
    dataset = example(task, **changes)
    again = Dataset.from_pyg(dataset.to_pyg(), like=dataset)
    for field in ("name", "task", "node_categories", "edge_categories", "about"):
        assert getattr(again, field) == getattr(dataset, field), field
    assert again.splits.keys() == dataset.splits.keys()
    assert all(np.array_equal(again.splits[part], graphs) for part, graphs in dataset.splits.items())
    assert again.arrays().keys() == dataset.arrays().keys()
    for name, array in dataset.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array, err_msg=name)
        assert again.arrays()[name].dtype == array.dtype, name


def test_what_pyg_gets() -> None:
    first, second, third = example().to_pyg()
    assert first.edge_index.tolist() == [[2, 0, 1, 2], [0, 1, 2, 2]]
    assert first.x.dtype == first.edge_index.dtype == first.y.dtype == torch.int64
    assert (first.num_nodes, second.num_nodes, third.num_nodes) == (3, 1, 2)
    assert second.edge_index.shape == (2, 0)
    assert third.y.tolist() == [[2]]
    assert third.pos.dtype == torch.float64
    assert "graph_key" not in first  # the place of the graph says it
    assert all(data.validate() for data in (first, second, third))


def test_keys_go_along_through_a_loader_of_pyg() -> None:
    part = example().subset([2, 0])
    [batch] = DataLoader(part.to_pyg(), batch_size=2)
    assert batch.graph_key.tolist() == [2, 0]


def test_an_in_memory_dataset_converts_in_one_call(tmp_path: Path) -> None:
    class Tiny(InMemoryDataset):  # type: ignore[misc]
        def __init__(self, root: str) -> None:
            super().__init__(root)
            self.data, self.slices = self.collate([graph(y=torch.tensor([label])) for label in (0, 2, 1)])

    dataset = Dataset.from_pyg(Tiny(str(tmp_path)))
    assert dataset.task == CLASSES
    assert dataset.y.tolist() == [[0], [2], [1]]
    assert dataset.node_counts.tolist() == [3, 3, 3]
    assert dataset.edges.tolist() == [[1, 0, 2, 1] * 3, [0, 1, 1, 2] * 3]
    assert dataset.x is not None
    assert dataset.x.dtype == np.float32


def test_one_axis_is_one_column_and_targets_may_be_plain_numbers() -> None:
    dataset = Dataset.from_pyg([graph(x=torch.arange(3), edge_attr=torch.arange(4), y=0.5)])
    assert dataset.x is not None
    assert dataset.edge_attr is not None
    assert dataset.x.tolist() == [[0], [1], [2]]
    assert dataset.edge_attr.tolist() == [[1], [0], [3], [2]]  # moved along with the edges
    assert dataset.y.tolist() == [[0.5]]
    assert Dataset.from_pyg([graph(y=torch.tensor([0.5, 1.5]))]).y.tolist() == [[0.5, 1.5]]


def test_tensors_may_require_gradients_and_live_on_a_device(device: torch.device) -> None:
    dataset = Dataset.from_pyg([graph(x=torch.ones(3, 2, requires_grad=True)).to(device)])
    assert dataset.x is not None
    assert dataset.x.tolist() == [[1, 1]] * 3


@pytest.mark.parametrize(
    ("graphs", "sentence"),
    [
        ([], "data must hold at least one graph, but it is empty"),
        ([graph(), graph(x=None, num_nodes=3)], "x must be there for all graphs or none, .* but 1 of 2 graphs have it"),
        ([graph(), graph(x=torch.ones(3, 4))], r"x must be there .* but 2 of 2 graphs have it, with \[2, 4\] columns"),
        ([graph(pos=torch.ones(3, 3)), graph()], "pos must be there for all .* but 1 of 2 graphs have it"),
        ([graph(edge_attr=torch.ones(4, 1)), graph()], "edge_attr must be there for all .* but 1 of 2 graphs have it"),
        ([graph(), graph(y=None)], "y must be there for all .* but 1 of 2 graphs have it"),
        ([graph(y=None)], "data must have y, but no graph has it"),
        ([graph(y=torch.tensor([torch.nan]))], "y must have a value of every target, but target 0 is NaN in all rows"),
        ([graph(), graph(y=torch.tensor([torch.inf]))], "y must be finite, or NaN if unknown, but graph 1 has inf"),
        ([graph(), graph(x=torch.full((3, 2), torch.nan))], "x must be finite, but graph 1 has nan"),
        ([graph(edge_attr=torch.full((4, 1), torch.inf))], "edge_attr must be finite, but graph 0 has inf"),
        ([graph(), graph(x=torch.full((3, 2), torch.nan, dtype=torch.bfloat16))], "x must be finite, but graph 1 has"),
        ([graph(), graph(edge_index=None)], "edge_index must be given, .*, but in graph 1 it is None"),
        ([graph(edge_index=EDGES.T)], r"edge_index must have shape \[2, e\], but in graph 0 it has \[4, 2\]"),
        ([graph(edge_attr=torch.ones(3, 1))], "edge_attr must have .* of 4 edges, but in graph 0 it has 3"),
        (
            [graph(edge_attr=torch.ones(5, 1)), graph(edge_attr=torch.ones(3, 1))],  # in all there are enough
            "edge_attr must have one row for each of 4 edges, but in graph 0 it has 5",
        ),
        ([graph(), graph(pos=torch.ones(2, 3))], "pos must have one row for each of 3 nodes, but in graph 1 it has 2"),
        ([graph(edge_index=EDGES + 1)], r"edges must join nodes 0..2 in graph 0, but it has the edge \(3, 2\)"),
    ],
)
def test_what_does_not_fit_gets_one_sentence(graphs: list[Data], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Dataset.from_pyg(graphs)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_float32(half: torch.dtype) -> None:
    dataset = Dataset.from_pyg([graph(x=torch.full((3, 2), 0.5, dtype=half))])
    assert dataset.x is not None
    assert dataset.x.dtype == np.float32
    assert dataset.x.tolist() == [[0.5, 0.5]] * 3


def test_targets_of_nodes_must_be_one_a_node() -> None:
    with pytest.raises(ValueError, match="y must have one row for each of 3 nodes, but in graph 0 it has 1"):
        Dataset.from_pyg([graph()], NODES)
    assert Dataset.from_pyg([graph(y=torch.tensor([0, 1, 1]))], NODES).y.tolist() == [[0], [1], [1]]


def test_one_way_edges_get_one_warning() -> None:
    one_way = torch.tensor([[0, 1, 2, 2], [1, 0, 1, 2]])
    graphs = [graph(), graph(edge_index=one_way), graph(edge_index=one_way)]
    with pytest.warns(
        UserWarning, match=r"^graph 1 has an edge without its reverse, \(2, 1\), and so .*to_undirected"
    ) as of:
        made = Dataset.from_pyg(graphs)
    assert len(of) == 1
    assert made[1].edge_index.shape == (2, 4)  # nothing is changed
    loop_and_double = torch.tensor([[0, 1, 0, 1, 2], [1, 0, 1, 0, 2]])
    nothing = torch.zeros(2, 0, dtype=torch.int64)
    Dataset.from_pyg([graph(edge_index=loop_and_double), graph(edge_index=nothing)])  # warnings are errors
    Dataset.from_pyg(made.to_pyg(), like=made)


@pytest.mark.parametrize("name", ["edge_weight", "edge_type"])
def test_features_of_edges_with_another_name_get_a_warning(name: str) -> None:
    with pytest.warns(
        UserWarning, match=rf"^{name} of graph 1 is not used, .* data.edge_attr = data.{name}\[:, None\]"
    ):
        made = Dataset.from_pyg([graph(), graph(**{name: torch.ones(4)})])
    assert made.edge_attr is None
