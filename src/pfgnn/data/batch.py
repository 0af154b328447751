"""A batch: several graphs as one. It is made here or by the loader; all other code uses it without checks."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pfgnn.errors import InputError, InputTypeError
from pfgnn.graphs.convert import check_dense
from pfgnn.ops.segments import Segments, make_segments
from pfgnn.ops.side_stream import beside, joined

if TYPE_CHECKING:
    from torch_geometric.data import Data


class GraphBatch:
    """Several graphs as one: N nodes, E directed edges, G graphs.

    Make one with :meth:`from_tensors` or :meth:`from_pyg`, which check their input, or with a
    :class:`pfgnn.data.Loader`. The constructor itself checks nothing.

    Args:
        edge_index: Source and target of each edge, shape [2, E], sorted by target.
        batch: Graph number of each node, shape [N], sorted.
        num_graphs: Number of graphs G.
        x: Node features, shape [N, F], or None.
        edge_attr: Edge features, shape [E, ...], or None.
        y: Targets, shape [G, C], or [N, C] at node level, or None.
        pos: Node positions, shape [N, 3], or None.
        graph_key: A number per graph that its random draws depend on, shape [G]. None: it is computed from the edges.
        node_key: A number per node that its random draws depend on, shape [N]. None: its position in its graph.
        padding: Number of graphs that only fill up the batch. They are the last ones.
        node_level: Whether the targets belong to nodes.
    """

    def __init__(
        self,
        edge_index: Tensor,
        batch: Tensor,
        num_graphs: int,
        x: Tensor | None = None,
        edge_attr: Tensor | None = None,
        y: Tensor | None = None,
        pos: Tensor | None = None,
        graph_key: Tensor | None = None,
        node_key: Tensor | None = None,
        padding: int = 0,
        node_level: bool = False,
    ) -> None:
        self.edge_index, self.batch, self.num_graphs = edge_index, batch, num_graphs
        self.x, self.edge_attr, self.y, self.pos = x, edge_attr, y, pos
        self.graph_key, self.node_key = graph_key, node_key
        self.padding, self.node_level = padding, node_level

    @classmethod
    def from_tensors(
        cls,
        x: Tensor | None,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        graph_key: Tensor | None = None,
        node_key: Tensor | None = None,
    ) -> "GraphBatch":
        """Make a batch from the tensors that a PyG model takes: check them and sort the edges by target.

        Args:
            x: Node features, shape [N, F]. May be None if ``batch`` is given, which then sets the number of nodes.
            edge_index: Directed edges, shape [2, E]. An undirected edge is given in both directions.
            edge_attr: Edge features, shape [E, Fe].
            batch: Graph number of each node, shape [N], sorted. None for one graph.
            graph_key: A number per graph, shape [G], see the class.
            node_key: A number per node, shape [N], see the class.
        """
        _check_types(x=x, edge_index=edge_index, edge_attr=edge_attr, batch=batch)
        num_nodes = _num_nodes(x, batch)
        _check_edges(edge_index, edge_attr, num_nodes)
        if batch is None:
            batch = torch.zeros(num_nodes, dtype=torch.int64, device=edge_index.device)
        num_graphs = _count_graphs(edge_index, batch)
        _check_finite("x", x, batch)
        _check_finite("edge_attr", edge_attr, batch[edge_index[0]])
        for name, key, length in (("graph_key", graph_key, num_graphs), ("node_key", node_key, num_nodes)):
            if key is not None:
                _check_key(name, key, length)
        target = edge_index[1]
        if (target[1:] < target[:-1]).any():
            order = target.argsort(stable=True)
            edge_index = edge_index[:, order]
            edge_attr = None if edge_attr is None else edge_attr[order]
        return cls(edge_index, batch, num_graphs, x, edge_attr, graph_key=graph_key, node_key=node_key)

    @classmethod
    def from_pyg(cls, data: "Data") -> "GraphBatch":
        """Make a batch from a PyG ``Data`` or ``Batch``, with its x, edge_attr, y, pos and graph_key if present."""
        own = {name: getattr(data, name, None) for name in ("x", "edge_attr", "batch", "graph_key", "y", "pos")}
        x, batch = own["x"], own["batch"]
        if x is None and batch is None and data.num_nodes is not None:
            device = None if data.edge_index is None else data.edge_index.device
            batch = torch.zeros(data.num_nodes, dtype=torch.int64, device=device)
        made = cls.from_tensors(x, data.edge_index, own["edge_attr"], batch, graph_key=own["graph_key"])
        return made.with_fields(y=own["y"], pos=own["pos"])

    @property
    def real_graphs(self) -> int:
        """Number of graphs that are not padding."""
        return self.num_graphs - self.padding

    def with_fields(self, **changed: Any) -> "GraphBatch":
        """A copy with some fields replaced. Nothing is checked."""
        return GraphBatch(**{name: getattr(self, name) for name in FIELDS} | changed)

    def tensors(self) -> dict[str, Tensor]:
        """All fields that are tensors, by name."""
        return {name: value for name in FIELDS if isinstance(value := getattr(self, name), Tensor)}

    @cached_property
    def nodes(self) -> Segments:
        """The nodes of each graph."""
        return make_segments(self.batch, self.num_graphs, ordered=True)

    @cached_property
    def sources(self) -> Segments:
        """The edges that leave each node."""
        return make_segments(self.edge_index[0], len(self.batch), ordered=False, other=self.edge_index[1])

    @contextmanager
    def edges_being_sorted(self) -> Iterator[None]:
        """Compute :attr:`sources`, which sorts the edges. On a GPU this runs in parallel to the body of the block."""
        with joined(self.edge_index):
            with beside(self.edge_index):
                _ = self.sources
            yield

    @cached_property
    def targets(self) -> Segments:
        """The edges that reach each node."""
        return make_segments(self.edge_index[1], len(self.batch), ordered=True)

    @cached_property
    def sizes(self) -> Tensor:
        """Number of nodes of each graph, shape [G]."""
        return self.nodes.counts

    @property
    def first(self) -> Tensor:
        """The first node of each graph, shape [G]."""
        return self.sizes.cumsum(0) - self.sizes


FIELDS = tuple(signature(GraphBatch).parameters)


def as_batch(
    x: Any,
    edge_index: Tensor | None,
    edge_attr: Tensor | None,
    batch: Tensor | None,
    graph_key: Tensor | None,
    node_key: Tensor | None,
) -> GraphBatch:
    """Turn the arguments of a model call into a GraphBatch. A PyG ``Data`` or tensors are checked and converted.

    Args:
        x: A GraphBatch, a PyG ``Data``, node features of shape [N, F], or None.
        edge_index: Directed edges, shape [2, E]. Must be None if x is a GraphBatch or a ``Data``.
        edge_attr: Edge features, shape [E, Fe]. Must be None if x is a GraphBatch or a ``Data``.
        batch: Graph number of each node, shape [N]. Must be None if x is a GraphBatch or a ``Data``.
        graph_key: A number per graph, shape [G], see GraphBatch. Replaces the graph_key of x.
        node_key: A number per node, shape [N], see GraphBatch. Replaces the node_key of x.
    """
    if isinstance(x, Tensor) or x is None or not hasattr(x, "edge_index"):
        if x is not None and not isinstance(x, Tensor):
            raise InputTypeError(
                f"x must be a torch tensor, or a GraphBatch or a PyG Data or Batch, but it is a {type(x).__name__}"
            )
        if edge_index is None:
            raise InputError("edge_index must be given, unless a GraphBatch or a PyG Data holds it")
        return GraphBatch.from_tensors(x, edge_index, edge_attr, batch, graph_key=graph_key, node_key=node_key)
    for name, value in (("edge_index", edge_index), ("edge_attr", edge_attr), ("batch", batch)):
        if value is not None:
            raise InputError(f"{name} must not be given together with a {type(x).__name__}, which has its own")
    graph = x if isinstance(x, GraphBatch) else GraphBatch.from_pyg(x)
    keys = {"graph_key": (graph_key, graph.num_graphs), "node_key": (node_key, len(graph.batch))}
    given = {name: _check_key(name, key, length) for name, (key, length) in keys.items() if key is not None}
    return graph.with_fields(**given) if given else graph


def _check_types(**arguments: Any) -> None:
    for name, value in arguments.items():
        if not isinstance(value, Tensor) and (value is not None or name == "edge_index"):
            raise InputTypeError(f"{name} must be a torch tensor, but it is a {type(value).__name__}")
        if value is not None:
            check_dense(name, value)


def _check_edges(edge_index: Tensor, edge_attr: Tensor | None, num_nodes: int) -> None:
    if edge_index.dtype != torch.int64:
        raise InputTypeError(f"edge_index must have dtype int64, but it has {_name(edge_index)}")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(f"edge_index must have shape [2, E], but it has {list(edge_index.shape)}")
    if edge_index.numel() and not (int(edge_index.min()) >= 0 and int(edge_index.max()) < num_nodes):
        low, high = int(edge_index.min()), int(edge_index.max())
        raise InputError(f"edge_index must lie in 0..{num_nodes - 1} for {num_nodes} nodes, but it spans {low}..{high}")
    if edge_attr is not None and edge_attr.shape[:1] != edge_index.shape[1:]:
        raise InputError(
            f"edge_attr must have one row for each of {edge_index.shape[1]} edges, "
            f"but its shape is {list(edge_attr.shape)}"
        )


def _check_finite(name: str, values: Tensor | None, graph: Tensor) -> None:
    """Raise an error if values [R, ...] hold NaN or infinity. ``graph`` [R] is the graph of each row."""
    if values is not None and not (finite := values.isfinite()).all():
        row = int((~finite.reshape(len(finite), -1).all(1)).nonzero()[0])
        raise InputError(f"{name} must be finite, but in graph {int(graph[row])} it holds NaN or infinity")


def _check_key(argument: str, key: Tensor, length: int) -> Tensor:
    """Return the key. Raise an error unless it is int64 of the right length."""
    if not isinstance(key, Tensor):
        raise InputTypeError(f"{argument} must be a torch tensor, but it is a {type(key).__name__}")
    if key.dtype != torch.int64:
        raise InputTypeError(f"{argument} must have dtype int64, but it has {key.dtype}")
    if key.shape != (length,):
        raise InputError(f"{argument} must have shape {[length]}, but it has {list(key.shape)}")
    return key


def _num_nodes(x: Tensor | None, batch: Tensor | None) -> int:
    if x is None and batch is None:
        raise InputError("x is None, so batch must be given to say how many nodes there are")
    if x is not None and x.is_complex():
        raise InputTypeError(f"x must hold real numbers, but it has dtype {_name(x)}")
    if x is not None and x.dim() != 2:
        raise InputError(f"x must have shape [N, F], but it has {list(x.shape)}")
    if batch is not None and batch.dtype != torch.int64:
        raise InputTypeError(f"batch must have dtype int64, but it has {_name(batch)}")
    if batch is not None and batch.dim() != 1:
        raise InputError(f"batch must have shape [N], but it has {list(batch.shape)}")
    if x is not None and batch is not None and len(x) != len(batch):
        raise InputError(f"batch must have one entry per node, but it has {len(batch)} for {len(x)} rows of x")
    num_nodes = max(0 if x is None else len(x), 0 if batch is None else len(batch))
    if num_nodes == 0:
        raise InputError("the batch is empty: x must hold at least one node")
    return num_nodes


def _count_graphs(edge_index: Tensor, batch: Tensor) -> int:
    if (batch[1:] < batch[:-1]).any() or int(batch[0]) < 0:
        raise InputError("batch must be sorted and not negative, but it is not")
    gaps = (batch[1:] - batch[:-1] > 1).nonzero()
    if len(gaps) or int(batch[0]) > 0:
        missing = int(batch[gaps[0]]) + 1 if len(gaps) and int(batch[0]) == 0 else 0
        raise InputError(f"batch must name every graph from 0 on, but graph {missing} has no node")
    crossing = batch[edge_index[0]] != batch[edge_index[1]]
    if crossing.any():
        u, v = edge_index[:, crossing][:, 0].tolist()
        raise InputError(f"edge_index must stay within a graph, but edge ({u}, {v}) joins two graphs of batch")
    return int(batch[-1]) + 1


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
