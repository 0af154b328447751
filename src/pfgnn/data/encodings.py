"""Encodings: numbers about each node's place in its graph, appended to the node features."""

import hashlib
import operator
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from pfgnn.data.columns import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.load import cache_folder
from pfgnn.data.packed import read_packed, write_packed
from pfgnn.errors import InputError, InputTypeError
from pfgnn.graphs.arrays import IntArray, ranges

VERSION = 1  # of the numbers below; a cache of another version is not read
CELLS = 512 * 512  # entries of the matrices of one batch, so that graphs of more than 512 nodes go one by one
BITS = 52  # sums of integers stay below 2^BITS, where float64 is exact

Doubles = npt.NDArray[np.float64]


def random_walks(dataset: Dataset, length: int) -> Dataset:
    """The dataset whose node features end in the return probabilities of a random walk, diag((D^-1 A)^k), k = 1, 2, ...

    A walk takes each edge out of its node with the same probability; edges are directed as given, and a multiple edge
    counts as often as it stands there. A node without an edge out has 0. Categories before the new columns become
    one-hot, and all features float32. The probabilities are kept in the user's cache.

    Args:
        dataset: any graphs, with node features or without.
        length: steps of the longest walk, and number of new columns.
    """
    probabilities = _cached(dataset, _check_length(length))
    return replace(dataset, x=_append(dataset, probabilities), node_categories=None)


def return_probabilities(dataset: Dataset, length: int) -> npt.NDArray[np.float32]:
    """The return probabilities of all nodes after 1, ..., ``length`` steps, [N, length], computed anew."""
    found = np.empty((int(dataset.node_counts.sum()), length), dtype=np.float32)
    for nodes, A in _adjacencies(dataset):
        found[nodes] = walk(A, length)
    return found


def walk(A: Doubles, length: int) -> Doubles:
    """The diagonals of (D^-1 A)^k for k = 1, ..., ``length``, [B, n, length], of edge counts A, [B, n, n].

    They are the same bits on every machine and under every numbering of the nodes. For this, probabilities are held
    as integers, in units of 2^-49 or so; their sums are exact, so that their order does not matter.
    """
    degree = A.sum(2, keepdims=True)  # [B, n, 1]
    _, bits = np.frexp(degree.max(1, keepdims=True))  # a degree is below 2^bits, [B, 1, 1]
    one = np.ldexp(1.0, BITS - bits)  # the probability 1
    M = one * np.eye(A.shape[1])  # [B, n, n]
    found = np.empty((*A.shape[:2], length))
    for k in range(length):
        M = np.rint(A @ M / np.maximum(degree, 1))
        found[:, :, k] = M.diagonal(axis1=1, axis2=2)
    return found / one


def _adjacencies(dataset: Dataset) -> Iterator[tuple[IntArray, Doubles]]:
    """Batches of graphs of one size: their nodes' rows in the dataset, [B, n], and edges from i to j, [B, n, n]."""
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


def _append(dataset: Dataset, columns: Array) -> npt.NDArray[np.float32]:
    """The node features as numbers, categories one-hot, and the new columns after them, [N, F + C]."""
    old = 0 if dataset.x is None else sum(dataset.node_categories or (dataset.x.shape[1],))
    found = np.zeros((len(columns), old + columns.shape[1]), dtype=np.float32)
    found[:, old:] = columns
    if dataset.x is not None and dataset.node_categories is None:
        found[:, :old] = dataset.x
    elif dataset.x is not None and dataset.node_categories is not None:
        first = 0
        for place, (count, column) in enumerate(zip(dataset.node_categories, dataset.x.T, strict=True)):
            if column.min() < 0 or column.max() >= count:
                raise InputError(
                    f"column {place} of x in {dataset.name} must lie in 0..{count - 1}, as node_categories says, "
                    f"but it spans {column.min()}..{column.max()}"
                )
            found[np.arange(len(column)), first + column.astype(np.int64)] = 1
            first += count
    return found


def _cached(dataset: Dataset, length: int) -> Array:
    """The return probabilities from the cache, or computed and kept there if it can be written."""
    path = cache_folder() / "encodings" / f"random-walks-{VERSION}-{length}-{_checksum(dataset)}.packed"
    found = _read(path)
    if found is not None and found.shape == (int(dataset.node_counts.sum()), length) and found.dtype == np.float32:
        return found
    made = return_probabilities(dataset, length)
    with suppress(OSError):  # a cache that cannot be written costs time, nothing else
        write_packed(path, {"probabilities": made}, {})
    return made


def _read(path: Path) -> Array | None:
    try:
        return read_packed(path)[0].get("probabilities")
    except (OSError, ValueError):  # not there, foreign or damaged
        return None


def _checksum(dataset: Dataset) -> str:
    """Of the graphs, whatever the dtypes of their arrays."""
    found = hashlib.sha256()
    for array in (dataset.node_counts, dataset.edge_counts, dataset.edges):
        found.update(np.ascontiguousarray(array, dtype="<i8").data)
    return found.hexdigest()[:16]


def _check_length(length: SupportsIndex) -> int:
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise InputTypeError(f"length must be an int, the steps of the longest walk, but it is {length!r}")
    if operator.index(length) < 1:
        raise InputError(f"length must be at least 1, for a walk has a step, but it is {length}")
    return operator.index(length)
