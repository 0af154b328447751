import numpy as np
import pytest

from pfgnn.data import Dataset, Task
from pfgnn.data.undirected import graphs_of, induced, undirected
from pfgnn.graphs import Graph, random_graph
from pfgnn.graphs.graph import induced_subgraph


@pytest.fixture
def graphs(seed: int) -> list[Graph]:
    rng = np.random.default_rng(seed)
    return [
        Graph(n, random_graph(n, m, rng).edges, rng.integers(3, size=(n, 2)), rng.random((m, 1)))
        for n, m in ((5, 7), (1, 0), (4, 3))
    ]


def test_graphs_come_back(graphs: list[Graph]) -> None:
    flat = undirected(Dataset.from_graphs(graphs, [0.0, 1.0, 2.0]))
    assert list(graphs_of(flat, np.array([0, 1, 2]))) == graphs
    assert list(graphs_of(flat, np.array([2, 0]))) == [graphs[2], graphs[0]]


def test_subgraphs_have_the_given_labels(graphs: list[Graph]) -> None:
    flat = undirected(Dataset.from_graphs(graphs, [0.0, 1.0, 2.0]))
    kept = np.array([True, False, True, True, True, False, True, True, False, True])
    few = induced(flat, kept, np.arange(10))
    assert few.node_counts.tolist() == [4, 0, 3]
    first, last = graphs_of(few, np.array([0, 2]))
    for small, graph, nodes, labels in (
        (first, graphs[0], [0, 2, 3, 4], [0, 2, 3, 4]),
        (last, graphs[2], [0, 1, 3], [6, 7, 9]),
    ):
        want = induced_subgraph(graph, np.array(nodes))
        assert small == Graph(len(nodes), want.edges, np.array(labels)[:, None], want.edge_attr)


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ([[0, 1], [1, 0]], [[1], [2]]),  # other features in the other direction
        ([[0, 1], [1, 2]], [[1], [1]]),  # one direction only
        ([[0], [0]], [[1]]),  # a loop
        ([[0, 0, 1, 1], [1, 1, 0, 0]], [[1], [1], [1], [1]]),  # twice
    ],
)
def test_other_graphs_are_refused_with_their_number(edges: list[list[int]], labels: list[list[int]]) -> None:
    count = len(edges[0])
    dataset = Dataset.from_arrays(
        "own",
        Task("graph", 1, "l1", "mae"),
        node_counts=np.array([2, 3]),
        edge_counts=np.array([2, count]),
        edges=np.concatenate([[[0, 1], [1, 0]], edges], axis=1),
        edge_attr=np.array([[0], [0], *labels]),
        y=np.zeros((2, 1)),
    )
    with pytest.raises(ValueError, match=r"own must have undirected graphs .* but graph 11 is not one"):
        undirected(dataset, 10)
