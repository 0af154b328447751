from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from pfgnn.graphs import Graph, from_edge_list, from_networkx, from_pyg, random_graph, to_networkx, to_pyg

# The first import of PyG, which happens inside these tests, warns about its own use of TorchScript.


def _labelled(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    plain = random_graph(9, 14, rng)
    return Graph(9, plain.edges, rng.integers(5, size=(9, 2)), rng.normal(size=(14, 1)).astype(np.float32))


@pytest.mark.parametrize("graph", [_labelled(0), Graph.from_edges(4, []), Graph.from_edges(3, [(0, 2)], [[1]] * 3)])
def test_round_trips_are_identities(graph: Graph) -> None:
    x = None if graph.x is None else [f"x{column}" for column in range(graph.x.shape[1])]
    edge_attr = None if graph.edge_attr is None else ["e0"]
    assert from_networkx(to_networkx(graph), x, edge_attr) == graph
    assert from_pyg(to_pyg(graph)) == graph
    assert from_edge_list(graph.num_nodes, graph.edges, graph.x, graph.edge_attr) == graph


def _data(**fields: Any) -> Any:
    return pytest.importorskip("torch_geometric.data").Data(**fields)


def test_networkx_nodes_keep_their_order() -> None:
    graph = nx.Graph()
    graph.add_node("b", size=2, charge=-1)
    graph.add_node("a", size=7, charge=0)
    graph.add_node("c", size=1, charge=0)
    graph.add_edge("c", "b", bond=2)
    expected = Graph.from_edges(3, [(0, 2)], [[-1, 2], [0, 7], [0, 1]], [[2]])
    assert from_networkx(graph, ["charge", "size"], ["bond"]) == expected


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph([(0, 1)]), "graph must be simple and undirected .*, but it is directed"),
        (nx.MultiGraph([(0, 1)]), "graph must be simple and undirected .*, but it is a multigraph"),
        (nx.Graph([(0, 1), (1, 1)]), "self-loop at node 1"),
        (nx.Graph(), "num_nodes is 0"),
    ],
)
def test_networkx_graphs_of_other_kinds_are_refused(graph: nx.Graph, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_networkx(graph)


def test_missing_attributes_are_named() -> None:
    graph = nx.Graph([("u", "v")])
    with pytest.raises(ValueError, match="node 'u' must have the attribute 'size', like all others, but it has none"):
        from_networkx(graph, node_attrs=["size"])
    with pytest.raises(ValueError, match=r"edge \('u', 'v'\) must have the attribute 'bond'"):
        from_networkx(graph, edge_attrs=["bond"])


def test_pyg_must_hold_both_directions_with_equal_labels() -> None:
    both = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    with pytest.raises(ValueError, match=r"edge_index must hold both directions, but it has edge \(1, 2\) without"):
        from_pyg(_data(edge_index=both[:, :3], num_nodes=3))
    with pytest.raises(ValueError, match=r"edge_attr of edge \(1, 2\) must be equal to that of its reverse"):
        from_pyg(_data(edge_index=both, edge_attr=torch.tensor([1, 1, 2, 3]), num_nodes=3))
    with pytest.raises(ValueError, match="edge_attr must have one row for each of 4 directed edges, but it has 3"):
        from_pyg(_data(edge_index=both, edge_attr=torch.tensor([1, 1, 2]), num_nodes=3))
    with pytest.raises(ValueError, match="duplicate edge"):
        from_pyg(_data(edge_index=torch.cat([both, both], dim=1), num_nodes=3))
    with pytest.raises(ValueError, match="self-loop at node 2"):
        from_pyg(_data(edge_index=torch.tensor([[2], [2]]), num_nodes=3))
    with pytest.raises(ValueError, match=r"data.edge_index must be given, .*, but it is None"):
        from_pyg(_data(x=torch.zeros(3, 1)))


def test_pyg_labels_with_one_axis_are_one_column() -> None:
    data = _data(x=torch.tensor([4, 5]), edge_index=torch.tensor([[1, 0], [0, 1]]), edge_attr=torch.tensor([7, 7]))
    assert from_pyg(data) == Graph.from_edges(2, [(0, 1)], [[4], [5]], [[7]])
