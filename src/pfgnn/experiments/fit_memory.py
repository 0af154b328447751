"""Remember which graphs an estimator has used for what, so that a warm start never calibrates on a training graph.

A conformal interval is only right if the model has never seen the graphs that it is calibrated on. A warm start begins
with weights that have seen the training graphs of all fits before. So each graph keeps its part.
"""

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.experiments.fit_parts import CALIBRATION
from pfgnn.graphs.arrays import BoolArray

Keys = npt.NDArray[np.uint64]
Used = dict[str, Keys]
"""Keys of the graphs of each part, over all fits of an estimator."""

PARTS = ("train", "validation", CALIBRATION)  # a graph that was in several of them counts for the first


def graph_keys(dataset: Dataset) -> Keys:
    """A number for each graph that follows from its content, not from its place in the list, [G].

    The content is edges, features and positions, with the nodes in the order in which they are given. The second of
    several equal graphs has another key than the first. Equal graphs are counted in the order of their targets.
    """
    nodes, edges = (np.cumsum(counts, dtype=np.int64) for counts in (dataset.node_counts, dataset.edge_counts))
    # In one dtype, because a dataset stores integers in the smallest one that holds all of them.
    rows = [
        (nodes, None if dataset.x is None else _numbers(dataset.x)),
        (nodes, None if dataset.pos is None else _numbers(dataset.pos)),
        (edges, dataset.edges.T.astype(np.int64)),
        (edges, None if dataset.edge_attr is None else _numbers(dataset.edge_attr)),
    ]
    keys = np.zeros(len(dataset), dtype=np.uint64)
    for graph, count in enumerate(dataset.node_counts.tolist()):
        content = blake2b(str(count).encode(), digest_size=8)
        for ends, array in rows:
            if array is not None:
                content.update(array[ends[graph - 1] if graph else 0 : ends[graph]].tobytes())
        keys[graph] = int.from_bytes(content.digest(), "little")
    return keys + _copy_numbers(keys, dataset.y)


def known_parts(keys: Keys, used: Used) -> dict[str, BoolArray]:
    """Whether each graph was in each part before, [G].

    Args:
        keys: Key of each graph, [G].
        used: What earlier fits used.
    """
    return {name: np.isin(keys, of) for name, of in used.items()}


def remember(used: Used, keys: Keys, parts: Mapping[str, Array]) -> Used:
    """What all fits used, after one more.

    Args:
        used: What earlier fits used.
        keys: Key of each graph of the last fit, [G].
        parts: Numbers of the graphs of each of its parts.
    """
    found: Used = {}
    taken = np.zeros(0, dtype=np.uint64)
    for name in PARTS:
        now = keys[parts[name]] if name in parts else taken[:0]
        found[name] = np.setdiff1d(np.union1d(used.get(name, taken[:0]), now), taken)
        taken = np.union1d(taken, found[name])
    return found


def _numbers(array: Array) -> Array:
    return array.astype(np.float64) + 0.0  # turns -0 into 0


def _copy_numbers(keys: Keys, y: Array) -> Keys:
    """For each graph the number of equal graphs before it, in the order of their targets, [G].

    Args:
        keys: Equal for equal graphs, [G].
        y: Targets, [G, C].
    """
    order = np.lexsort((*y.T, keys))
    first = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]))
    place = np.arange(len(keys))
    numbers = np.zeros(len(keys), dtype=np.uint64)
    numbers[order] = place - np.repeat(first, np.diff(first, append=len(keys)))
    return numbers
