"""Checks of the arguments of a graph. Each error message names the argument, the rule and the value."""

import numpy as np

from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.graphs.arrays import Array, IntArray

# float64 represents every integer up to this one exactly, so labels of different dtypes can be compared by value.
LARGEST_INTEGER_LABEL = 2**53
# A graph of more nodes is taken for a mistake. It would fill the memory.
MOST_NODES = 10_000_000
# A text of any length may claim this many nodes.
FEW_NODES = 100_000


def check_num_nodes(num_nodes: object) -> int:
    """Return `num_nodes` as an int. Raise an error unless it is an integer of at least 1."""
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, int | np.integer):
        raise InputTypeError(f"num_nodes must be an integer, not {type(num_nodes).__name__}")
    if num_nodes < 1:
        raise InputError(f"num_nodes is {shown(num_nodes)}, but a graph has at least 1 node")
    if num_nodes > MOST_NODES:
        raise InputError(f"num_nodes must be at most {MOST_NODES}, but it is {shown(num_nodes)}")
    return int(num_nodes)


def check_claimed_nodes(num_nodes: int, characters: int) -> None:
    """Raise an error if a text claims far more nodes than it describes.

    A few characters can claim millions of nodes, and the memory for them. In a text that describes a large graph, every
    node that has an edge takes more than one character.

    Args:
        num_nodes: The number of nodes that the text claims.
        characters: Length of the text.
    """
    most = max(FEW_NODES, characters)
    if num_nodes > most:
        raise InputError(f"a text of {characters} characters must have at most {most} nodes, but it has {num_nodes}")


def check_edges(edges: Array, num_nodes: int) -> IntArray:
    """Return `edges` as int64 [m, 2]. Raise an error unless every row joins two different nodes of 0..num_nodes-1."""
    _check_array(edges, "edges")
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise InputError(f"edges must have shape [m, 2], but it has {shown(list(edges.shape))}")
    if edges.dtype.kind not in "iu":
        raise InputTypeError(f"edges must hold integers, but it has dtype {edges.dtype}")
    outside = ((edges < 0) | (edges >= num_nodes)).any(axis=1)
    if outside.any():
        u, v = edges[outside.argmax()]
        raise InputError(f"edges has edge ({u}, {v}), which is out of range for {num_nodes} nodes")
    loops = edges[:, 0] == edges[:, 1]
    if loops.any():
        node = edges[loops.argmax(), 0]
        raise InputError(f"edges has a self-loop at node {node}, but a simple graph has none")
    return edges.astype(np.int64)


def check_distinct(edges: IntArray) -> None:
    """Raise an error if `edges` [m, 2], whose rows must be sorted, has a duplicate row."""
    repeated = (edges[1:] == edges[:-1]).all(axis=1)
    if repeated.any():
        u, v = edges[repeated.argmax()]
        raise InputError(f"edges has the duplicate edge ({u}, {v}), but a simple graph has each edge once")


def check_labels(labels: Array, name: str, rows: int, of: str) -> None:
    """Raise an error unless `labels` has shape [rows, columns] and holds integers or finite floats.

    Args:
        labels: The labels.
        name: Name of the argument, for the message.
        rows: Required number of rows.
        of: What the rows belong to, such as "nodes", for the message.
    """
    _check_array(labels, name)
    if labels.ndim != 2:
        raise InputError(f"{name} must have 2 axes, one row of labels for each of the {of}, but it has {labels.ndim}")
    if len(labels) != rows:
        raise InputError(f"{name} must have one row for each of {rows} {of}, but it has {len(labels)} rows")
    if labels.dtype.kind not in "iuf" or labels.dtype.itemsize > 8:
        raise InputTypeError(f"{name} must hold integers or floats of at most 64 bits, but it has dtype {labels.dtype}")
    if labels.dtype.kind == "f":
        bad = ~np.isfinite(labels)
        rule = "finite labels"
    else:
        bad = (labels > LARGEST_INTEGER_LABEL) | (labels < -LARGEST_INTEGER_LABEL)
        rule = "integer labels between -2**53 and 2**53"
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(f"{name} must hold {rule}, but row {row}, column {column} is {labels[row, column]}")


def check_permutation(permutation: Array, num_nodes: int) -> IntArray:
    """Return `permutation` as int64 [n]. Raise an error unless it holds every number of 0..num_nodes-1 once."""
    if permutation.shape != (num_nodes,):
        raise InputError(f"permutation must have shape [{num_nodes}], but it has {list(permutation.shape)}")
    if permutation.dtype.kind not in "iu":
        raise InputTypeError(f"permutation must hold integers, but it has dtype {permutation.dtype}")
    if not np.array_equal(np.sort(permutation), np.arange(num_nodes)):
        raise InputError(f"permutation must hold each of 0..{num_nodes - 1} once, but some are missing or repeated")
    return permutation.astype(np.int64)


def _check_array(value: object, name: str) -> None:
    if not isinstance(value, np.ndarray):
        raise InputTypeError(
            f"{name} must be a numpy array, but it is a {type(value).__name__}; Graph.from_edges takes lists"
        )
