"""The `Graph` class, which every other module of `pfgnn.graphs` works on."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pfgnn.argument_checks import checked
from pfgnn.errors import InputError
from pfgnn.graphs.arrays import Array, IntArray, stack
from pfgnn.graphs.checks import check_distinct, check_edges, check_labels, check_num_nodes, check_permutation


class Neighbours(NamedTuple):
    """Adjacency lists of all nodes in compressed sparse row (CSR) format.

    An arc is one direction of an edge. The arcs of node v are `indptr[v]` to `indptr[v + 1] - 1`.

    Attributes:
        indptr: First arc of each node, shape [n + 1].
        indices: Node at the other end of each arc, ascending for each node, shape [2 m].
        edge_ids: Row of `Graph.edges` that each arc comes from, shape [2 m].
    """

    indptr: IntArray
    indices: IntArray
    edge_ids: IntArray


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph with optional node and edge labels. It is immutable.

    Each edge is given once, in either direction. The graph stores the edges as (u, v) with u < v, sorted, and reorders
    the rows of `edge_attr` with them. Labels are rows of integers or finite floats. They are compared by exact value.

    Args:
        num_nodes: Number of nodes n, at least 1. The nodes are 0..n-1.
        edges: Pairs of nodes, integers, shape [m, 2].
        x: Node labels, shape [n, F].
        edge_attr: Edge labels, shape [m, Fe].
    """

    num_nodes: int
    edges: IntArray
    x: Array | None = None
    edge_attr: Array | None = None

    def __post_init__(self) -> None:
        """Check the arguments, sort the edges and make the arrays read-only."""
        num_nodes = check_num_nodes(self.num_nodes)
        edges = np.sort(check_edges(self.edges, num_nodes), axis=1)
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        edges = edges[order]
        check_distinct(edges)
        object.__setattr__(self, "num_nodes", num_nodes)
        object.__setattr__(self, "edges", _read_only(edges))
        if self.x is not None:
            check_labels(self.x, "x", num_nodes, "nodes")
            object.__setattr__(self, "x", _read_only(self.x.copy()))
        if self.edge_attr is not None:
            check_labels(self.edge_attr, "edge_attr", len(edges), "edges")
            object.__setattr__(self, "edge_attr", _read_only(self.edge_attr[order]))

    @classmethod
    def from_edges(
        cls,
        num_nodes: int,
        edges: npt.ArrayLike,
        x: npt.ArrayLike | None = None,
        edge_attr: npt.ArrayLike | None = None,
    ) -> Self:
        """Build a graph from array-likes, such as lists. The arguments are those of `Graph`."""
        pairs = _as_array(edges, "edges")
        if pairs.shape == (0,):  # numpy gives an empty list one axis and a float dtype
            pairs = np.zeros((0, 2), dtype=np.int64)
        labels = (("x", x), ("edge_attr", edge_attr))
        return cls(num_nodes, pairs, *(None if rows is None else _as_array(rows, name) for name, rows in labels))

    def __eq__(self, other: object) -> bool:
        """Whether both graphs have the same nodes, edges and label values. Isomorphic graphs can be unequal."""
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self.num_nodes == other.num_nodes
            and np.array_equal(self.edges, other.edges)
            and _same_labels(self.x, other.x)
            and _same_labels(self.edge_attr, other.edge_attr)
        )

    def __hash__(self) -> int:
        """A hash consistent with `==`. It ignores labels, because 0.0 and -0.0 are equal but differ in their bytes."""
        return hash((self.num_nodes, self.edges.tobytes()))

    @property
    def num_edges(self) -> int:
        """Number of undirected edges m."""
        return len(self.edges)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The adjacency lists of all nodes, computed once."""
        # Each undirected edge gives two arcs: arcs 0..m-1 go forwards, arcs m..2m-1 go backwards.
        source = self.edges.T.reshape(-1)  # [2 m]
        target = self.edges[:, ::-1].T.reshape(-1)  # [2 m]
        order = np.lexsort((target, source))
        indptr = np.zeros(self.num_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(source, minlength=self.num_nodes), out=indptr[1:])
        edge_ids = np.tile(np.arange(self.num_edges), 2)[order]
        return Neighbours(_read_only(indptr), _read_only(target[order]), _read_only(edge_ids))

    @property
    def degrees(self) -> IntArray:
        """Number of neighbours of each node, [n]."""
        return np.diff(self.neighbours.indptr)

    def directed(self) -> tuple[IntArray, Array | None]:
        """Both directions of every edge, sorted by source, then by target.

        Returns:
            The pairs (source, target) as columns, shape [2, 2 m], and their edge labels, shape [2 m, Fe] or None.
        """
        _, target, edge_ids = self.neighbours
        source = np.repeat(np.arange(self.num_nodes), self.degrees)
        labels = None if self.edge_attr is None else self.edge_attr[edge_ids]
        return np.stack([source, target]), labels

    def relabel(self, permutation: npt.ArrayLike) -> "Graph":
        """Renumber the nodes: node v becomes node `permutation[v]` and keeps its labels.

        Args:
            permutation: New number of each node, a permutation of 0..n-1, shape [n].
        """
        names = check_permutation(np.asarray(permutation), self.num_nodes)
        x = None if self.x is None else self.x[np.argsort(names)]
        return Graph(self.num_nodes, names[self.edges], x, self.edge_attr)

    def to_bytes(self) -> bytes:
        """The graph as bytes. Two graphs give the same bytes if and only if they are equal."""
        widths = [-1 if labels is None else labels.shape[1] for labels in (self.x, self.edge_attr)]
        head = np.array([self.num_nodes, self.num_edges, *widths])
        parts = [head.astype("<i8"), self.edges.astype("<i8"), _values(self.x), _values(self.edge_attr)]
        return b"".join(part.tobytes() for part in parts)


@checked
def disjoint_union(*graphs: Graph) -> Graph:
    """The disjoint union of graphs. The nodes of each graph are numbered after those of the graph before it.

    Args:
        graphs: At least one graph. Either all graphs or none have node labels. The same holds for edge labels.
    """
    if not graphs:
        raise InputError("graphs is empty, but a union needs at least 1 graph")
    sizes = [graph.num_nodes for graph in graphs]
    offsets = np.cumsum([0, *sizes])
    edges = np.concatenate([graph.edges + offset for graph, offset in zip(graphs, offsets, strict=False)])
    x = stack("x", [graph.x for graph in graphs])
    edge_attr = stack("edge_attr", [graph.edge_attr for graph in graphs])
    return Graph(int(offsets[-1]), edges, x, edge_attr)


def induced_subgraph(graph: Graph, nodes: IntArray) -> Graph:
    """The subgraph induced by some nodes. Its node i is `nodes[i]`, and the labels are kept.

    Args:
        graph: The graph.
        nodes: At least one node of the graph, all different, shape [k].
    """
    place = np.full(graph.num_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    ends = place[graph.edges]  # [m, 2]
    inside = (ends >= 0).all(axis=1)
    x = None if graph.x is None else graph.x[nodes]
    edge_attr = None if graph.edge_attr is None else graph.edge_attr[inside]
    return Graph(len(nodes), ends[inside], x, edge_attr)


def _as_array(rows: npt.ArrayLike, name: str) -> Array:
    try:
        return np.asarray(rows)
    except ValueError:
        raise InputError(f"{name} must have rows of the same length, but they differ") from None


def _same_labels(left: Array | None, right: Array | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)


def _values(labels: Array | None) -> Array:
    """Labels as float64, which represents every allowed label exactly. Adding 0.0 turns -0.0 into 0.0."""
    return np.zeros(0) if labels is None else labels.astype("<f8") + 0.0


def _read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array
