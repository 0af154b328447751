"""Which pairs of graphs can be told apart after T vertices are individualised."""

from contextlib import closing
from functools import partial

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import Shards
from pfgnn.data.undirected import graphs_of, undirected
from pfgnn.graphs.arrays import BoolArray, IntArray
from pfgnn.graphs.marked import MOST_PATHS, marked_certificate
from pfgnn.report.survey import Piece, Progress, pieces_of
from pfgnn.workers import ordered_map

MOST_STEPS = 3  # T that is looked at
MOST_PATHS_IN_ALL = 100_000  # a path takes about half a millisecond


def tell_apart(
    dataset: Dataset | Shards, pairs: IntArray, processes: int, progress: Progress
) -> dict[int, tuple[int, int]]:
    """How many pairs of graphs can be told apart after at most T vertices are individualised, for T = 1, 2, 3.

    Only as many pairs are tried as can be in a short time. A pair that a smaller T tells apart is not tried again.

    Args:
        dataset: The graphs.
        pairs: Numbers of the two graphs of each pair, shape [P, 2].
        processes: Number of processes.
        progress: See :func:`pfgnn.report.survey.survey`.

    Returns:
        For each T, the number of pairs that are told apart, and the number of pairs of which that is known. It ends
        when no pair is left to be tried.
    """
    told: dict[int, tuple[int, int]] = {}
    apart = 0
    for steps in range(1, MOST_STEPS + 1):
        pairs = pairs[_affordable(dataset.node_counts, pairs, steps)]
        if not len(pairs):
            break
        numbers, place = np.unique(pairs, return_inverse=True)
        what = f"pairs with T = {steps}"
        found: list[bytes] = []
        work = ordered_map(partial(_marked, steps=steps), pieces_of(dataset, numbers, graphs=4), processes)
        with closing(work) as results:
            for piece in results:
                found += piece
                progress(what, len(found), len(numbers))
        left, right = place.reshape(-1, 2).T.tolist()
        equal = np.array([found[i] == found[j] for i, j in zip(left, right, strict=True)])
        apart += int((~equal).sum())
        told[steps] = apart, apart + int(equal.sum())
        pairs = pairs[equal]
    return told


def _affordable(node_counts: IntArray, pairs: IntArray, steps: int) -> BoolArray:
    """The first pairs whose paths are few enough, each and in all, [P]."""
    paths = node_counts[pairs].astype(float) ** steps  # [P, 2]
    few = (paths <= MOST_PATHS).all(1)
    new = np.zeros(pairs.size, dtype=np.bool_)  # whether a graph occurs for the first time
    new[np.unique(pairs, return_index=True)[1]] = True
    return few & (np.cumsum((paths * new.reshape(-1, 2)).sum(1) * few) <= MOST_PATHS_IN_ALL)


def _marked(piece: Piece, steps: int) -> list[bytes]:
    """What is equal for graphs that look alike after ``steps`` marks. Runs in another process."""
    flat = undirected(piece.graphs, piece.first)
    return [marked_certificate(graph, steps) for graph in graphs_of(flat, np.arange(len(flat.node_counts)))]
