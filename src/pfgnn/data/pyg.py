"""Datasets from and to lists of PyG graphs."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import Array, as_targets, check_items, guess_task, join_edges
from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError, warn
from pfgnn.graphs.arrays import stack
from pfgnn.graphs.convert import tensor_array

if TYPE_CHECKING:
    from torch_geometric.data import Data

UNREAD = ("edge_weight", "edge_type")  # what PyG calls other features of edges


def from_pyg(
    data: Iterable["Data"],
    task: Task | None = None,
    name: str = "graphs",
    like: Dataset | None = None,
    y: npt.ArrayLike | None = None,
    **parts: Any,
) -> Dataset:
    """A dataset from PyG graphs.

    Warns if an edge has no reverse, because messages then go one way only, and of edge_weight and edge_type, which are
    not read.

    Args:
        data: The graphs, such as an InMemoryDataset. They may have x, edge_attr, pos and graph_key.
        task: The task. By default guessed from y, see :func:`pfgnn.data.arrays.guess_task`.
        name: Name of the dataset.
        like: The dataset that the graphs come from. Name, task, splits, pairs, category counts and notes are taken from
            it, because PyG graphs cannot store them. So ``from_pyg(to_pyg(d), like=d)`` restores the dataset d.
        y: Targets, one row per graph, or one row per node for a task at node level. By default the y of the graphs.
        parts: Further arguments of :class:`Dataset`, such as splits and category counts. By default, key is the
            graph_key of the graphs.
    """
    graphs = check_items("data", data)
    for number, graph in enumerate(graphs):
        if not hasattr(graph, "edge_index") or not hasattr(graph, "num_nodes"):
            raise InputTypeError(f"data must hold PyG graphs (Data), but item {number} is a {type(graph).__name__}")
    if not graphs:
        raise InputError("data must hold at least one graph, but it is empty")
    if like is not None:
        task, name = like.task, like.name
        carried = ("splits", "pairs", "node_categories", "edge_categories", "about")
        parts = {**{field: getattr(like, field) for field in carried}, **parts}
    node_level = task is not None and task.level == "node"
    edges = [_edges(number, graph) for number, graph in enumerate(graphs)]
    counts = {"nodes": [int(graph.num_nodes) for graph in graphs], "edges": [ends.shape[1] for ends in edges]}
    of = {"x": "nodes", "edge_attr": "edges", "pos": "nodes"}
    columns = {name: _stacked(name, [_rows(graph, name) for graph in graphs], of[name], counts) for name in of}
    rows = [_rows(graph, "y", node_level) for graph in graphs] if y is None else []
    found = _stacked("y", rows, "nodes" if node_level else None, counts) if y is None else y
    if found is None:
        raise InputError("data must have y, but no graph has it")
    keys = [_rows(graph, "graph_key") for graph in graphs]
    if any(key is not None for key in keys):  # the first graph of a dataset, taken alone, has key 0 and does not say so
        keys = [np.zeros((1, 1), dtype=np.int64) if key is None else key for key in keys]
    if (key := stack("graph_key", keys)) is not None:
        parts = {"key": key[:, 0], **parts}
    targets = as_targets(found)
    made = Dataset.from_arrays(
        name,
        task or guess_task(targets),
        node_counts=np.array(counts["nodes"]),
        edge_counts=np.array(counts["edges"]),
        edges=join_edges(edges),
        y=targets,
        **columns,
        **parts,
    )
    if like is None:  # else the user has seen the dataset
        _warn_of_one_way_edges(made)
        _warn_of_unread(graphs)
    return made


def to_pyg(dataset: Dataset) -> list["Data"]:
    """A list with one PyG ``Data`` for each graph.

    Integers become int64. y has one row per graph, or one row per node for a task at node level. If the keys are not
    just 0, 1, 2, ..., each graph has its key as ``graph_key``.
    """
    import torch
    from torch_geometric.data import Data

    def pieces(array: Array | None, counts: Array) -> list[Any]:
        if array is None:
            return [None] * len(dataset)
        wide = torch.from_numpy(array.astype(np.int64 if array.dtype.kind in "iub" else array.dtype))
        return list(torch.split(wide, counts.tolist()))

    nodes, edges, graphs = dataset.node_counts, dataset.edge_counts, np.ones(len(dataset), dtype=np.int64)
    columns = {
        "x": pieces(dataset.x, nodes),
        "edge_index": [pairs.T.contiguous() for pairs in pieces(dataset.edges.T, edges)],
        "edge_attr": pieces(dataset.edge_attr, edges),
        "y": pieces(dataset.y, nodes if dataset.task.level == "node" else graphs),
        "pos": pieces(dataset.pos, nodes),
        "num_nodes": nodes.tolist(),
    }
    assert dataset.key is not None  # Dataset sets a default
    if not np.array_equal(dataset.key, np.arange(len(dataset))):
        columns["graph_key"] = pieces(dataset.key, graphs)
    return [Data(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def _rows(graph: "Data", name: str, several: bool = True) -> Array | None:
    """An attribute as an array with two axes: one row per node or edge, or one row in all unless ``several``."""
    value = getattr(graph, name, None)
    if value is None:
        return None
    array = np.atleast_1d(tensor_array(name, value))
    if not several:
        return array.reshape(1, -1)
    return array[:, None] if array.ndim == 1 else array


def _stacked(name: str, parts: list[Array | None], of: str | None, counts: dict[str, list[int]]) -> Array | None:
    """The rows of all graphs, or None if no graph has rows. Each graph must have as many as it has nodes or edges.

    In all there may be the right number of rows although two graphs are wrong. So each graph is looked at.

    Args:
        name: Name of the attribute, for the message.
        parts: The rows of each graph.
        of: What the rows belong to: "nodes" or "edges"; None if they belong to the graph.
        counts: Number of nodes and of edges of each graph.
    """
    for number, (part, count) in enumerate(zip(parts, [] if of is None else counts[of], strict=False)):
        if part is not None and len(part) != count:
            raise InputError(
                f"{name} must have one row for each of {count} {of}, but in graph {number} it has {len(part)}"
            )
    return stack(name, parts)


def _edges(number: int, graph: "Data") -> Array:
    """The directed edges of a graph, [2, e]."""
    if graph.edge_index is None:
        raise InputError(
            f"edge_index must be given, with no columns if there are no edges, but in graph {number} it is None"
        )
    ends = tensor_array("edge_index", graph.edge_index)
    if ends.ndim != 2 or len(ends) != 2:
        raise InputError(f"edge_index must have shape [2, e], but in graph {number} it has {list(ends.shape)}")
    return ends


def _warn_of_unread(graphs: list["Data"]) -> None:
    """Warn of features of edges that PyG's layers may read, but pfgnn does not."""
    for name in UNREAD:
        number = next((number for number, graph in enumerate(graphs) if getattr(graph, name, None) is not None), None)
        if number is not None:
            warn(
                f"{name} of graph {number} is not used, because features of edges are read from edge_attr; set "
                f"data.edge_attr = data.{name}[:, None], or join it to edge_attr",
            )


def _warn_of_one_way_edges(dataset: Dataset) -> None:
    graph = np.repeat(np.arange(len(dataset)), dataset.edge_counts)
    counts = dataset.node_counts.astype(np.int64)
    source, target = dataset.edges.astype(np.int64) + (np.cumsum(counts) - counts)[graph]
    there, back = (first * counts.sum() + second for first, second in ((target, source), (source, target)))
    place = np.searchsorted(there, back).clip(max=len(there) - 1)  # the edges are sorted by target, then by source
    alone = there[place] != back if len(there) else np.zeros(0, dtype=bool)
    if alone.any():
        first, several = int(alone.argmax()), len(np.unique(graph[alone]))
        more = f", and so have {several - 1} more graphs" if several > 1 else ""
        warn(
            f"graph {graph[first]} has an edge without its reverse, {tuple(dataset.edges[:, first].tolist())}{more}; "
            "messages go one way there; if the graphs are undirected, use "
            "torch_geometric.utils.to_undirected(data.edge_index, data.edge_attr)",
        )
