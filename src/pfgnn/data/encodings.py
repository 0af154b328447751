"""Encodings: numbers that describe each node's position in its graph, appended to the node features."""

import hashlib
import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import Array
from pfgnn.data.code_checksum import code_checksum
from pfgnn.data.dataset import Dataset
from pfgnn.data.load import cache_folder
from pfgnn.data.packed import read_packed, write_packed
from pfgnn.errors import InputError, InputTypeError, PFGNNError, shown
from pfgnn.graphs.arrays import IntArray, ranges

CELLS = 512 * 512  # most matrix entries in one batch, unless a single graph has more
BITS = 52  # sums of integers stay below 2^BITS, where float64 is exact

Doubles = npt.NDArray[np.float64]
Encoding = Callable[[Doubles, int], Doubles]  # takes edge counts [B, n, n] and a length, returns columns [B, n, C]


def random_walks(dataset: Dataset, length: int, cached: bool = True) -> Dataset:
    """Append the return probabilities of a random walk to the node features: diag((D^-1 A)^k) for k = 1, ..., length.

    The walk takes each edge out of its node with the same probability. Edges are directed as given, and a multiple edge
    counts as often as it occurs. A node without an outgoing edge has probabilities 0. Categories of x become one-hot,
    and all features become float32.

    Args:
        dataset: Any graphs, with or without node features.
        length: Steps of the longest walk, which is the number of new columns.
        cached: Whether to store the columns in the user's cache.
    """
    return _encode(dataset, "random-walks", walk_returns, _check_length(length, 1), cached)


def ring_walks(dataset: Dataset, length: int, cached: bool = True) -> Dataset:
    """Append log(1 + c_k) to the node features for k = 3, 4, ..., length.

    c_k is the number of closed walks of k steps from the node that never turn straight back. A graph without rings has
    no such walk. A ring of k nodes gives each of its nodes two walks, one in each direction. Nearby rings count too: a
    walk may go to a ring, around it, and back the same way.

    Edges count as undirected, multiple edges count once, and self-loops are ignored. Categories of x become one-hot,
    and all features become float32.

    Args:
        dataset: Any graphs, with or without node features.
        length: Steps of the longest walk, at least 3.
        cached: Whether to store the columns in the user's cache.
    """
    return _encode(dataset, "ring-walks", count_ring_walks, _check_length(length, 3), cached)


def ring_walk_columns(length: int) -> int:
    """The number of columns that :func:`ring_walks` appends. It is 0 for length 0."""
    return max(0, length - 2)


def encode_nodes(dataset: Dataset, numbers: Encoding, length: int) -> npt.NDArray[np.float32]:
    """Compute the columns of an encoding for all nodes, shape [N, C], without the cache."""
    columns = numbers(np.zeros((1, 1, 1)), length).shape[2]
    found = np.empty((int(dataset.node_counts.sum()), columns), dtype=np.float32)
    for nodes, A in _adjacencies(dataset):
        found[nodes] = numbers(A, length)
    return found


def count_ring_walks(A: Doubles, length: int) -> Doubles:
    """The columns of :func:`ring_walks`: log(1 + c_k) for k = 3, ..., length.

    Let W_k hold the number of walks of k steps from each node to each node that never turn straight back, and D the
    degrees. Then

        W_1 = A,  W_2 = A² - D,  W_k = W_{k-1} A - W_{k-2} (D - 1),

    and c_k is the diagonal of W_k. All numbers are integers below 2^52, so their sums are exact in any order. If the
    numbers of a graph could become larger at some k, its columns from this k on repeat the column before.

    Args:
        A: Edge counts, shape [B, n, n].
        length: Steps of the longest walk.

    Returns:
        The columns, shape [B, n, length - 2].
    """
    A = np.where(np.eye(A.shape[1], dtype=bool), 0.0, np.minimum(A + A.swapaxes(1, 2), 1.0))
    degree = A.sum(2, keepdims=True)  # [B, n, 1]
    most = degree.max(1, keepdims=True)  # [B, 1, 1]
    before, W = A, A @ A - degree * np.eye(A.shape[1])
    counts = np.zeros((*A.shape[:2], length - 2))
    for k in range(length - 2):
        # The left side is an upper bound of both terms of W_k.
        fits = most * np.maximum(np.abs(W), np.abs(before)).max((1, 2), keepdims=True) < 2.0**BITS
        before, W = np.where(fits, W, before), np.where(fits, W @ A - before * (degree - 1).swapaxes(1, 2), W)
        last = counts[:, :, k - 1] if k else counts[:, :, 0]
        counts[:, :, k] = np.where(fits[:, :, 0], W.diagonal(axis1=1, axis2=2), last)
    return np.log1p(counts)


def walk_returns(A: Doubles, length: int) -> Doubles:
    """The columns of :func:`random_walks`: the diagonals of (D^-1 A)^k for k = 1, ..., length.

    They are the same bits on every machine and for every numbering of the nodes. For this, probabilities are stored as
    integers, in units of about 2^-49. Their sums are exact, so the order of the terms does not matter.

    Args:
        A: Edge counts, shape [B, n, n].
        length: Steps of the longest walk.

    Returns:
        The columns, shape [B, n, length].
    """
    degree = A.sum(2, keepdims=True)  # [B, n, 1]
    _, bits = np.frexp(degree.max(1, keepdims=True))  # all degrees of a graph are below 2^bits, [B, 1, 1]
    one = np.ldexp(1.0, BITS - bits)  # stands for the probability 1
    M = one * np.eye(A.shape[1])  # [B, n, n]
    found = np.empty((*A.shape[:2], length))
    for k in range(length):
        M = np.rint(A @ M / np.maximum(degree, 1))
        found[:, :, k] = M.diagonal(axis1=1, axis2=2)
    return found / one


def _adjacencies(dataset: Dataset) -> Iterator[tuple[IntArray, Doubles]]:
    """Batches of graphs with n nodes each: the rows of their nodes [B, n], and edge counts from i to j [B, n, n]."""
    node_counts, edge_counts = dataset.node_counts.astype(np.int64), dataset.edge_counts.astype(np.int64)
    first_node, first_edge = np.cumsum(node_counts) - node_counts, np.cumsum(edge_counts) - edge_counts
    for n in np.unique(node_counts).tolist():
        same = np.flatnonzero(node_counts == n)
        B = max(1, CELLS // n**2)
        for graphs in (same[start : start + B] for start in range(0, len(same), B)):
            source, target = dataset.edges[:, ranges(first_edge[graphs], edge_counts[graphs])].astype(np.int64)
            place = np.repeat(np.arange(len(graphs)), edge_counts[graphs])
            counts = np.bincount((place * n + source) * n + target, minlength=len(graphs) * n * n)
            yield first_node[graphs][:, None] + np.arange(n), counts.reshape(-1, n, n).astype(np.float64)


def _encode(dataset: Dataset, name: str, numbers: Encoding, length: int, cached: bool) -> Dataset:
    columns = _cached(dataset, name, numbers, length) if cached else encode_nodes(dataset, numbers, length)
    return replace(dataset, x=_append(dataset, columns), node_categories=None)


def _append(dataset: Dataset, columns: Array) -> npt.NDArray[np.float32]:
    """The node features, with categories as one-hot, followed by the new columns, shape [N, F + C]."""
    old = 0 if dataset.x is None else sum(dataset.node_categories or (dataset.x.shape[1],))
    found = np.zeros((len(columns), old + columns.shape[1]), dtype=np.float32)
    found[:, old:] = columns
    if dataset.x is not None and dataset.node_categories is None:
        found[:, :old] = dataset.x
    elif dataset.x is not None and dataset.node_categories is not None:
        first = 0
        for count, column in zip(dataset.node_categories, dataset.x.T, strict=True):
            found[np.arange(len(column)), first + column.astype(np.int64)] = 1
            first += count
    return found


def _cached(dataset: Dataset, name: str, numbers: Encoding, length: int) -> Array:
    """The columns from the cache. If they are not there, they are computed and, if possible, stored there."""
    path = cache_folder() / "encodings" / f"{name}-{code_checksum()}-{length}-{_checksum(dataset)}.packed"
    found = _read(path)
    columns = numbers(np.zeros((1, 1, 1)), length).shape[2]
    if found is not None and found.shape == (int(dataset.node_counts.sum()), columns) and found.dtype == np.float32:
        return found
    made = encode_nodes(dataset, numbers, length)
    with suppress(OSError):  # if the cache cannot be written, the columns are only computed again next time
        write_packed(path, {"columns": made}, {})
    return made


def _read(path: Path) -> Array | None:
    try:
        return read_packed(path)[0].get("columns")
    except (OSError, PFGNNError):  # missing, damaged or of another format
        return None


def _checksum(dataset: Dataset) -> str:
    """A checksum of the graphs. It does not depend on the dtypes of the arrays."""
    found = hashlib.sha256()
    for array in (dataset.node_counts, dataset.edge_counts, dataset.edges):
        found.update(np.ascontiguousarray(array, dtype="<i8").data)
    return found.hexdigest()[:16]


def _check_length(length: SupportsIndex, least: int) -> int:
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise InputTypeError(f"length must be an int, the steps of the longest walk, but it is {shown(length)}")
    if operator.index(length) < least:
        raise InputError(f"length must be at least {least}, the steps of the shortest walk, but it is {length}")
    return operator.index(length)
