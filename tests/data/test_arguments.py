"""Arguments of the wrong type, where graphs come in: one sentence that says what is expected."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.data.dataset_samples import PATH, example
from torch_geometric.data import Data

from pfgnn.data import Dataset, Loader, load
from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError, PFGNNError
from pfgnn.graphs import Graph, from_graph6, from_networkx, from_pyg, from_smiles, from_sparse6

MAKERS: dict[str, Callable[[Any], Any]] = {
    "from_smiles": lambda items: Dataset.from_smiles(items, [0.5]),
    "from_graphs": lambda items: Dataset.from_graphs(items, [0.5]),
    "from_networkx": lambda items: Dataset.from_networkx(items, [0.5]),
    "from_pyg": lambda items: Dataset.from_pyg(items),
}


@pytest.mark.parametrize("items", [None, 5, "CCO", b"CCO", [None], [3], [["CCO"]], np.array([1.5])], ids=repr)
@pytest.mark.parametrize("maker", MAKERS)
def test_what_holds_no_graphs(maker: str, items: Any) -> None:
    with pytest.raises(InputTypeError, match=r"^(item 0 of graphs cannot be used: )?(smiles|graphs?|data) must "):
        MAKERS[maker](items)


def test_the_item_is_named() -> None:
    with pytest.raises(InputTypeError, match="smiles must hold objects of type str, but item 1 is None"):
        Dataset.from_smiles(["CCO", None], [0.5, 1.0])  # type: ignore[list-item]
    with pytest.raises(InputTypeError, match="graphs must hold objects of type Graph, but item 1 is a Graph"):
        Dataset.from_graphs([PATH, nx.path_graph(3)], [0.5, 1.0])
    with pytest.raises(InputTypeError, match=r"data must hold PyG graphs \(Data\), but item 0 is a Graph"):
        Dataset.from_pyg([PATH])


def test_series_and_generators_are_sequences_too() -> None:
    assert len(Dataset.from_graphs((PATH for _ in range(3)), [0.5, 1.0, 2.0])) == 3
    data = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]), y=0.5)
    assert len(Dataset.from_pyg(data for _ in range(2))) == 2


@pytest.mark.parametrize("value", [None, 3, [1], b"A_"])
@pytest.mark.parametrize("read", [from_graph6, from_sparse6, from_networkx, from_pyg, from_smiles])
def test_a_single_graph(read: Callable[[Any], Graph], value: Any) -> None:
    with pytest.raises(InputTypeError, match=r"^(text|graph|data|smiles) must be "):
        read(value)


@pytest.mark.parametrize("edges", [[(0, 1)], None, "ab", torch.tensor([[0, 1]])])
def test_a_graph_takes_arrays_and_says_what_takes_lists(edges: Any) -> None:
    with pytest.raises(InputTypeError, match=r"edges must be a numpy array, .*; Graph.from_edges takes lists"):
        Graph(3, edges)
    with pytest.raises(
        InputTypeError, match=r"x must be a numpy array, but it is a list; Graph.from_edges takes lists"
    ):
        Graph(1, np.zeros((0, 2), dtype=np.int64), [[1]])  # type: ignore[arg-type]


def test_rows_of_different_lengths() -> None:
    with pytest.raises(InputError, match="edges must have rows of the same length, but they differ"):
        Graph.from_edges(3, [(0, 1), (1,)])
    with pytest.raises(InputError, match="edge_attr must have rows of the same length, but they differ"):
        Graph.from_edges(3, [(0, 1), (1, 2)], None, [[1], [1, 2]])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"task": "l1"}, "task must be a Task, but it is 'l1'"),
        ({"name": 3}, "name must be a string, but it is 3"),
        ({"node_counts": [3, 2, 1]}, "node_counts must be a numpy array, but it is a list"),
        ({"y": None}, "y must be a numpy array, but it is a NoneType"),
        ({"x": torch.zeros(6, 2)}, "x must be a numpy array, but it is a Tensor"),
        ({"splits": [0, 1]}, "splits must be a mapping, such as a dict, but it is a list"),
        ({"about": "nobody"}, "about must be a mapping, such as a dict, but it is a str"),
        ({"node_categories": 2}, "node_categories must be a sequence of ints, but it is 2"),
    ],
)
def test_fields_of_a_dataset(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputTypeError, match=sentence):
        example(**changes)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch_size": "64"}, "batch_size must be an int, but it is '64'"),
        ({"batch_size": 1.5}, "batch_size must be an int, but it is 1.5"),
        ({"batch_size": 0}, "batch_size must be at least 1, but it is 0"),
        ({"shuffle": "yes"}, "shuffle must be True or False, but it is 'yes'"),
        ({"seed": -1}, "seed must be at least 0, but it is -1"),
        ({"pad": 8}, "pad must be a sequence, such as a list, but it is a int"),
        ({"pad": (8, 0)}, "pad must be at least 1, but it is 0"),
        ({"world": None}, "world must be an int, but it is None"),
        ({"rank": -1}, "rank must be at least 0, but it is -1"),
        ({"dataset": [1]}, "dataset must be a Dataset or a GraphStore, but it is a list"),
    ],
)
def test_a_loader(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PFGNNError, match=sentence):
        Loader(**{"dataset": example(), **options})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("graph", "2", "l1", "mae"), "outputs must be an int, but it is '2'"),
        (("graph", 0, "l1", "mae"), "outputs must be at least 1, but it is 0"),
        (("graph", 1, "l1", "mae", "a"), "targets must be a tuple, but it is 'a'"),
        (("graph", 1, "l1", "error_ratio", (), ("1",)), "scales must be a number, but it is '1'"),
        (("graph", 1, "l1", "error_ratio", (), (0.0,)), "scales must be above 0, but one is 0.0"),
    ],
)
def test_a_task(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(PFGNNError, match=sentence):
        Task(*arguments)


@pytest.mark.parametrize("name", [None, ["zinc"], 3])
def test_a_name_of_a_dataset(name: Any) -> None:
    with pytest.raises(InputError, match="name must be one of csl, "):
        load(name)
