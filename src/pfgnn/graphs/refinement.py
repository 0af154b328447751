"""1-WL colour refinement to the coarsest equitable partition, exact and vectorised.

A colouring is stored as an ordered partition: the colour of a vertex is the position at which its cell starts. So cells
that do not split keep their colour. When a cell splits, the order of the other cells stays. A discrete colouring is a
permutation of 0..n-1.
"""

import numpy as np

from pfgnn.argument_checks import checked
from pfgnn.errors import InputError, InputTypeError
from pfgnn.graphs.arrays import Array, IntArray, ranges, rank_rows
from pfgnn.graphs.graph import Graph, disjoint_union
from pfgnn.graphs.partition import Partition


@checked
def refine(graph: Graph, colours: Array | None = None) -> IntArray:
    """Refine a colouring by 1-WL until it is equitable.

    In an equitable colouring, vertices of the same colour have the same multiset of (edge label, neighbour's colour).

    Args:
        graph: The graph. Its edge labels are always used.
        colours: Integers to start from, shape [n]. By default the ranks of the rows of `graph.x`.

    Returns:
        The coarsest equitable colouring that refines the start, shape [n].
    """
    start = initial_colours(graph) if colours is None else np.asarray(colours)
    if start.shape != (graph.num_nodes,):
        raise InputError(f"colours must have shape [{graph.num_nodes}], but it has {list(start.shape)}")
    return refine_many(graph, start[None])[0]


@checked
def refine_many(graph: Graph, colours: Array) -> IntArray:
    """Refine B colourings of one graph at once. Row b of the result is `refine(graph, colours[b])`.

    Args:
        graph: The graph.
        colours: Integers to start from, shape [B, n].

    Returns:
        The refined colourings, shape [B, n].
    """
    if colours.ndim != 2 or colours.shape[1] != graph.num_nodes:
        raise InputError(f"colours must have shape [B, {graph.num_nodes}], but it has {list(colours.shape)}")
    if colours.dtype.kind not in "iu":
        raise InputTypeError(f"colours must hold integers, but it has dtype {colours.dtype}")
    indptr, indices, edge_ids = graph.neighbours
    partition = Partition(indptr, indices, edge_labels(graph)[edge_ids], colours)
    splitters = partition.cells()
    while splitters.size:
        splitters = partition.split(splitters)
    first = np.arange(len(colours)) * graph.num_nodes  # first position of each copy in the partition
    return partition.colour.reshape(colours.shape) - first[:, None]


def initial_colours(graph: Graph) -> IntArray:
    """Rank of each node's label row among the sorted distinct rows, shape [n]. All zero without labels."""
    return np.zeros(graph.num_nodes, dtype=np.int64) if graph.x is None else rank_rows(graph.x)


@checked
def is_equitable(graph: Graph, colours: IntArray) -> bool:
    """Whether all vertices of the same colour have the same multiset of (edge label, neighbour's colour).

    Args:
        graph: The graph.
        colours: Any integers, shape [n].
    """
    indptr, indices, edge_ids = graph.neighbours
    _, member, cell = np.unique(colours, return_index=True, return_inverse=True)
    model = member[cell]  # a fixed representative of each vertex's cell, [n]
    degree = np.diff(indptr)
    if not np.array_equal(degree, degree[model]):
        return False
    node = np.repeat(np.arange(graph.num_nodes), degree)
    seen = np.stack([edge_labels(graph)[edge_ids], colours[indices]])  # [2, 2 m]
    seen = seen[:, np.lexsort((seen[1], seen[0], node))]
    return np.array_equal(seen, seen[:, ranges(indptr[model], degree)])


@checked
def wl_equivalent(left: Graph, right: Graph) -> bool:
    """Whether 1-WL gives both graphs the same histogram of colours. Labels are compared by value."""
    if _shape(left) != _shape(right):
        return False
    colours = refine(disjoint_union(left, right))
    return np.array_equal(np.sort(colours[: left.num_nodes]), np.sort(colours[left.num_nodes :]))


def colouring_certificate(graph: Graph, colours: IntArray) -> bytes:
    """Bytes that describe an equitable colouring: the size and label of each cell, and what its vertices are joined to.

    For the colourings of :func:`refine` these bytes are equal for two graphs if and only if 1-WL cannot tell the graphs
    apart. For the colourings of one search tree, nodes with equal bytes look alike.

    Args:
        graph: The graph.
        colours: An equitable colouring of it, from :func:`refine` or the search tree, shape [n].
    """
    cells, members = np.unique(colours, return_index=True)
    indptr, indices, edge_ids = graph.neighbours
    degree = np.diff(indptr)[members]
    arcs = ranges(indptr[members], degree)  # of one vertex of each cell
    labels = edge_labels(graph)[edge_ids[arcs]]
    seen = np.stack([np.repeat(cells, degree), colours[indices[arcs]], labels])
    seen = seen[:, np.lexsort(seen[::-1])]
    widths = [-1 if rows is None else rows.shape[1] for rows in (graph.x, graph.edge_attr)]
    parts = [np.array([graph.num_nodes, len(cells), *widths]), cells, seen]
    values = [np.zeros(0) if graph.x is None else graph.x[members]]
    values += [np.zeros(0) if graph.edge_attr is None else np.unique(graph.edge_attr, axis=0)]
    # Adding 0.0 turns -0.0 into 0.0.
    return b"".join(
        [*(part.astype("<i8").tobytes() for part in parts), *((v + 0.0).astype("<f8").tobytes() for v in values)]
    )


def edge_labels(graph: Graph) -> IntArray:
    """Rank of each edge's label row among the sorted distinct rows, shape [m]. All zero without labels."""
    return np.zeros(graph.num_edges, dtype=np.int64) if graph.edge_attr is None else rank_rows(graph.edge_attr)


def _shape(graph: Graph) -> tuple[int, int, int | None, int | None]:
    columns = [None if labels is None else labels.shape[1] for labels in (graph.x, graph.edge_attr)]
    return graph.num_nodes, graph.num_edges, columns[0], columns[1]
