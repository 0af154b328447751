"""A batch: several graphs as one. It is made here or by the loader; all other code uses it without checks."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pfgnn.data.batch_checks import (
    check_edges,
    check_ends,
    check_finite,
    check_key,
    check_positions,
    check_types,
    count_graphs,
    count_nodes,
)
from pfgnn.errors import InputError, InputTypeError
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
        # Made when first used. A cached_property would be shorter, but in Python 3.11 torch.compile cannot trace it.
        self._nodes: Segments | None = None
        self._sources: Segments | None = None
        self._targets: Segments | None = None
        self._sizes: Tensor | None = None

    @classmethod
    def from_tensors(
        cls,
        x: Tensor | None,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        pos: Tensor | None = None,
        batch_size: int | None = None,
        graph_key: Tensor | None = None,
        node_key: Tensor | None = None,
    ) -> "GraphBatch":
        """Make a batch from the tensors that a PyG model takes: check them and sort the edges by target.

        While torch.compile or torch.export traces the call, only types and shapes are checked, because a look at the
        values would break the traced graph.

        Args:
            x: Node features, shape [N, F]. May be None if ``batch`` is given, which then sets the number of nodes.
            edge_index: Directed edges, shape [2, E]. An undirected edge is given in both directions.
            edge_attr: Edge features, shape [E, Fe].
            batch: Graph number of each node, shape [N], sorted. None for one graph.
            pos: Node positions, shape [N, 3], or in another number of dimensions.
            batch_size: Number of graphs G. None: it is counted.
            graph_key: A number per graph, shape [G], see the class.
            node_key: A number per node, shape [N], see the class.
        """
        check_types(x=x, edge_index=edge_index, edge_attr=edge_attr, batch=batch, pos=pos)
        num_nodes = count_nodes(x, batch)
        check_edges(edge_index, edge_attr)
        check_positions(pos, num_nodes)
        if batch is None:
            batch, batch_size = torch.zeros(num_nodes, dtype=torch.int64, device=edge_index.device), batch_size or 1
        tracing = torch.compiler.is_compiling()
        if tracing:
            num_graphs = int(batch[-1]) + 1 if batch_size is None else batch_size
        else:
            check_ends(edge_index, num_nodes)
            num_graphs = count_graphs(edge_index, batch, batch_size)
            check_finite("x", x, batch)
            check_finite("edge_attr", edge_attr, batch[edge_index[0]])
            check_finite("pos", pos, batch)
        for name, key, length in (("graph_key", graph_key, num_graphs), ("node_key", node_key, num_nodes)):
            if key is not None:
                check_key(name, key, length)
        target = edge_index[1]
        if tracing or (target[1:] < target[:-1]).any():
            order = target.argsort(stable=True)
            edge_index = edge_index[:, order]
            edge_attr = None if edge_attr is None else edge_attr[order]
        return cls(edge_index, batch, num_graphs, x, edge_attr, pos=pos, graph_key=graph_key, node_key=node_key)

    @classmethod
    def from_pyg(cls, data: "Data", leave_out: Collection[str] = ()) -> "GraphBatch":
        """Make a batch from a PyG ``Data`` or ``Batch``, with its x, edge_attr, y, pos and graph_key if present.

        Args:
            data: The graphs.
            leave_out: Fields that are not read, such as "y" and "pos".
        """
        names = (name for name in ("x", "edge_attr", "batch", "pos", "y", "graph_key") if name not in leave_out)
        own = {name: getattr(data, name, None) for name in names}
        x, batch = own["x"], own["batch"]
        if x is None and batch is None and data.num_nodes is not None:
            device = None if data.edge_index is None else data.edge_index.device
            batch = torch.zeros(data.num_nodes, dtype=torch.int64, device=device)
        graphs, tracing = getattr(data, "num_graphs", None), torch.compiler.is_compiling()
        made = cls.from_tensors(
            x,
            data.edge_index,
            own["edge_attr"],
            batch,
            pos=own.get("pos"),
            batch_size=graphs if tracing else None,
            graph_key=own["graph_key"],
        )
        if not tracing and graphs is not None and graphs > made.num_graphs:  # batch does not tell of the last graphs
            raise InputError(f"every graph must have a node, but graph {made.num_graphs} of {graphs} has none")
        return made.with_fields(y=own["y"]) if "y" in own else made

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return self.batch.shape[0]  # torch.export cannot trace len(self.batch)

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

    @property
    def nodes(self) -> Segments:
        """The nodes of each graph."""
        if self._nodes is None:
            self._nodes = make_segments(self.batch, self.num_graphs, ordered=True)
        return self._nodes

    @property
    def sources(self) -> Segments:
        """The edges that leave each node."""
        if self._sources is None:
            source, target = self.edge_index
            self._sources = make_segments(source, self.num_nodes, ordered=False, other=target)
        return self._sources

    @contextmanager
    def edges_being_sorted(self) -> Iterator[None]:
        """Compute :attr:`sources`, which sorts the edges. On a GPU this runs in parallel to the body of the block."""
        with joined(self.edge_index):
            with beside(self.edge_index):
                _ = self.sources
            yield

    @property
    def targets(self) -> Segments:
        """The edges that reach each node."""
        if self._targets is None:
            self._targets = make_segments(self.edge_index[1], self.num_nodes, ordered=True)
        return self._targets

    @property
    def sizes(self) -> Tensor:
        """Number of nodes of each graph, shape [G]."""
        if self._sizes is None:
            self._sizes = self.nodes.counts
        return self._sizes

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
    batch_size: int | None,
    graph_key: Tensor | None,
    node_key: Tensor | None,
    pos: Tensor | None = None,
    reads_positions: bool = False,
) -> GraphBatch:
    """Turn the arguments of a model call into a GraphBatch. A PyG ``Data`` or tensors are checked and converted.

    Args:
        x: A GraphBatch, a PyG ``Data``, node features of shape [N, F], or None.
        edge_index: Directed edges, shape [2, E]. Must be None if x is a GraphBatch or a ``Data``.
        edge_attr: Edge features, shape [E, Fe]. Must be None if x is a GraphBatch or a ``Data``.
        batch: Graph number of each node, shape [N]. Must be None if x is a GraphBatch or a ``Data``.
        batch_size: Number of graphs, see GraphBatch. Must be None if x is a GraphBatch or a ``Data``.
        graph_key: A number per graph, shape [G], see GraphBatch. Replaces the graph_key of x.
        node_key: A number per node, shape [N], see GraphBatch. Replaces the node_key of x.
        pos: Node positions, shape [N, 3]. Must be None if x is a GraphBatch or a ``Data``.
        reads_positions: Whether the model reads the positions of a ``Data``.
    """
    if isinstance(x, Tensor) or x is None or not hasattr(x, "edge_index"):
        if x is not None and not isinstance(x, Tensor):
            raise InputTypeError(
                f"x must be a torch tensor, or a GraphBatch or a PyG Data or Batch, but it is a {type(x).__name__}"
            )
        if edge_index is None:
            raise InputError("edge_index must be given, unless a GraphBatch or a PyG Data holds it")
        return GraphBatch.from_tensors(
            x, edge_index, edge_attr, batch, pos=pos, batch_size=batch_size, graph_key=graph_key, node_key=node_key
        )
    given = {"edge_index": edge_index, "edge_attr": edge_attr, "batch": batch, "batch_size": batch_size, "pos": pos}
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} must not be given together with a {type(x).__name__}, which has its own")
    # torch.compile would compile again for each shape of a field that is read, so only those that count are.
    unread = ("y",) if reads_positions else ("y", "pos")
    graph = x if isinstance(x, GraphBatch) else GraphBatch.from_pyg(x, unread)
    keys = {"graph_key": (graph_key, graph.num_graphs), "node_key": (node_key, graph.num_nodes)}
    own = {name: check_key(name, key, length) for name, (key, length) in keys.items() if key is not None}
    return graph.with_fields(**own) if own else graph
