"""Conversion from and to networkx and PyTorch Geometric."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pfgnn.argument_checks import checked
from pfgnn.errors import InputError, InputTypeError
from pfgnn.graphs.arrays import Array, IntArray
from pfgnn.graphs.checks import check_labels
from pfgnn.graphs.graph import Graph

if TYPE_CHECKING:
    import networkx as nx
    from torch import Tensor
    from torch_geometric.data import Data

from_edge_list = Graph.from_edges
"""Build a graph from lists. The same as `Graph.from_edges`."""


@checked
def from_networkx(
    graph: "nx.Graph", node_attrs: Sequence[str] | None = None, edge_attrs: Sequence[str] | None = None
) -> Graph:
    """Convert a simple undirected networkx graph. Node i is the i-th node of `graph.nodes`.

    Args:
        graph: The networkx graph.
        node_attrs: Names of numeric node attributes that become the columns of `x`.
        edge_attrs: Names of numeric edge attributes that become the columns of `edge_attr`.
    """
    if not callable(getattr(graph, "is_directed", None)) or not hasattr(graph, "nodes"):
        raise InputTypeError(f"graph must be a networkx.Graph, but it is a {type(graph).__name__}")
    for kind, refused in [("directed", graph.is_directed()), ("a multigraph", graph.is_multigraph())]:
        if refused:
            raise InputError(f"graph must be simple and undirected (a networkx.Graph), but it is {kind}")
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = [(number[u], number[v]) for u, v in graph.edges]
    x = edge_attr = None
    if node_attrs is not None:
        x = _columns([(f"node {node!r}", data) for node, data in graph.nodes.data()], node_attrs)
    if edge_attrs is not None:
        edge_attr = _columns([(f"edge ({u!r}, {v!r})", data) for u, v, data in graph.edges.data()], edge_attrs)
    return Graph.from_edges(len(number), edges, x, edge_attr)


def from_networkx_list(
    graphs: Sequence["nx.Graph"], node_attrs: Sequence[str] | None = None, edge_attrs: Sequence[str] | None = None
) -> list[Graph]:
    """Convert several networkx graphs. An error names the number of the graph. See :func:`from_networkx`."""
    found = []
    for number, graph in enumerate(graphs):
        try:
            found.append(from_networkx(graph, node_attrs, edge_attrs))
        except (InputError, InputTypeError) as error:
            raise type(error)(f"item {number} of graphs cannot be used: {error}") from None
    return found


@checked
def to_networkx(graph: Graph) -> "nx.Graph":
    """Convert to networkx. Label columns become node attributes x0, x1, ... and edge attributes e0, e1, ..."""
    import networkx as nx

    result = nx.Graph()
    for node, row in enumerate(_rows(graph.x, graph.num_nodes)):
        result.add_node(node, **{f"x{column}": value for column, value in enumerate(row)})
    for (u, v), row in zip(graph.edges.tolist(), _rows(graph.edge_attr, graph.num_edges), strict=True):
        result.add_edge(u, v, **{f"e{column}": value for column, value in enumerate(row)})
    return result


@checked
def from_pyg(data: "Data") -> Graph:
    """Convert a PyG graph that has every edge in both directions, with the same label.

    Args:
        data: A graph with `edge_index` [2, 2 m], `num_nodes`, and optionally `x` [n, F] and `edge_attr` [2 m, Fe]. An
            `x` or `edge_attr` with one axis is read as one column.
    """
    if not hasattr(data, "edge_index") or not hasattr(data, "num_nodes"):
        raise InputTypeError(f"data must be a PyG Data, but it is a {type(data).__name__}")
    if data.edge_index is None:
        raise InputError("data.edge_index must be given, with no columns if there are no edges, but it is None")
    arcs = tensor_array("edge_index", data.edge_index)
    if arcs.ndim != 2 or len(arcs) != 2:
        raise InputError(f"edge_index must have shape [2, 2 m], but it has {list(arcs.shape)}")
    arcs = arcs.T  # [2 m, 2]
    labels = _matrix("edge_attr", data.edge_attr)
    _check_reverses(arcs)
    if labels is not None:
        check_labels(labels, "edge_attr", len(arcs), "directed edges")
        _check_same_labels(arcs, labels)
    once = arcs[:, 0] <= arcs[:, 1]  # self-loops pass here, and Graph raises the error
    return Graph(int(data.num_nodes), arcs[once], _matrix("x", data.x), None if labels is None else labels[once])


@checked
def to_pyg(graph: Graph) -> "Data":
    """Convert to PyG with both directions of every edge: `edge_index` [2, 2 m], `x`, `edge_attr`, `num_nodes`."""
    import torch
    from torch_geometric.data import Data

    edge_index, edge_attr = graph.directed()
    return Data(
        x=None if graph.x is None else torch.tensor(graph.x),
        edge_index=torch.tensor(edge_index),
        edge_attr=None if edge_attr is None else torch.tensor(edge_attr),
        num_nodes=graph.num_nodes,
    )


def _check_reverses(arcs: IntArray) -> None:
    """Raise an error if one of the arcs [2 m, 2] has no reverse."""
    present = set(map(tuple, arcs.tolist()))
    alone = next(((u, v) for u, v in arcs.tolist() if (v, u) not in present), None)
    if alone is not None:
        raise InputError(f"edge_index must hold both directions, but it has edge {alone} without its reverse")


def _check_same_labels(arcs: IntArray, labels: Array) -> None:
    """Raise an error if the labels [2 m, Fe] of an arc and of its reverse differ."""
    row = {(u, v): labels[i].tolist() for i, (u, v) in enumerate(arcs.tolist())}
    differs = next((arc for arc in row if row[arc] != row[arc[::-1]]), None)
    if differs is not None:
        raise InputError(f"edge_attr of edge {differs} must be equal to that of its reverse, but they differ")


def _columns(items: list[tuple[str, dict[str, Any]]], names: Sequence[str]) -> Array:
    """The values of the named attributes, one row for each item, shape [r, len(names)]."""
    for item, data in items:
        for name in names:
            if name not in data:
                raise InputError(f"{item} must have the attribute {name!r}, like all others, but it has none")
    rows = [[data[name] for name in names] for _, data in items]
    return np.array(rows).reshape(len(items), len(names)) if rows else np.zeros((0, len(names)), dtype=np.int64)


def _rows(labels: Array | None, count: int) -> list[list[float]]:
    return [[]] * count if labels is None else labels.tolist()


def tensor_array(name: str, value: object) -> Array:
    """A tensor, or a value that can be one, as an array.

    Args:
        name: Name of the attribute, for the message.
        value: Value that the caller gave.
    """
    import torch

    try:
        tensor = torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError):
        raise InputTypeError(f"{name} must be a torch tensor, but it is a {type(value).__name__}") from None
    check_dense(name, tensor)
    half = tensor.dtype in (torch.float16, torch.bfloat16)  # NumPy lacks bfloat16, and packed files lack both
    array: Array = (tensor.float() if half else tensor).cpu().numpy()
    return array


def check_dense(name: str, tensor: "Tensor") -> None:
    """Raise an InputTypeError unless a tensor has values, one for each place."""
    import torch

    if tensor.is_meta or tensor.layout is not torch.strided:
        kind = "has no values (device meta)" if tensor.is_meta else f"has the layout {tensor.layout}"
        raise InputTypeError(f"{name} must be a dense torch tensor, but it {kind}")


def _matrix(name: str, tensor: object) -> Array | None:
    """A tensor as an array with two axes. A single axis becomes one column."""
    if tensor is None:
        return None
    array = tensor_array(name, tensor)
    return array[:, None] if array.ndim == 1 else array
