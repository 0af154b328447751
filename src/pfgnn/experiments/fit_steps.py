"""How many vertices a fit marks: the fewest that tell its training graphs apart."""

import numpy as np

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.undirected import Undirected, graphs_of, undirected
from pfgnn.errors import InputError
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.canonical import certificate
from pfgnn.graphs.fingerprint import fingerprints
from pfgnn.graphs.marked import MOST_PATHS, marked_certificate

MOST_COMPARED = 100  # graphs that are compared after marks; one mark in 64 vertices takes about 30 milliseconds


def least_steps(graphs: Dataset) -> int:
    """T = 2 if some graphs with other targets look alike after one mark, but not after two; else 1.

    Strongly regular graphs are of this kind. Graphs with positions, one-way edges, loops or double edges get 1.

    Args:
        graphs: Training graphs with their targets.
    """
    if graphs.pos is not None or (graphs.node_counts.astype(np.int64) ** 2 > MOST_PATHS).any():
        return 1
    try:
        flat = undirected(graphs)
    except InputError:
        return 1
    alike = _mixed(fingerprints(*flat).graphs, graphs.y)[:MOST_COMPARED]
    alike = alike[_mixed(_marked(flat, alike, 1), graphs.y[alike])]
    kinds = [certificate(graph) for graph in graphs_of(flat, alike)]
    alike = alike[np.unique(np.array(kinds, dtype=object), return_index=True)[1]] if kinds else alike
    alike = alike[_mixed(_marked(flat, alike, 1), graphs.y[alike])]  # not copies of one graph with other targets
    return 2 if len(np.unique(_marked(flat, alike, 2))) > 1 else 1


def _marked(flat: Undirected, chosen: IntArray, steps: int) -> Array:
    """What is equal for graphs that look alike after ``steps`` marks, [g]."""
    return np.array([marked_certificate(graph, steps) for graph in graphs_of(flat, chosen)], dtype=object)


def _mixed(looks: Array, y: Array) -> IntArray:
    """The places of graphs that look like a graph with other targets, in order.

    Args:
        looks: What is equal for graphs that look alike, [g].
        y: Their targets, [g, C]. NaN means unknown.
    """
    _, look = np.unique(looks, return_inverse=True)
    known = np.where(np.isnan(y), np.inf, y)  # NaN would differ from NaN
    _, target = np.unique(known, axis=0, return_inverse=True)
    kinds = np.unique(np.stack([look, target.reshape(-1)]), axis=1)
    return np.flatnonzero(np.bincount(kinds[0], minlength=len(look))[look] > 1)
