"""How much each test graph differs from the training graphs, seen with the eyes of the model."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import rows_of
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Resident
from pfgnn.experiments.predict import TrainedRun
from pfgnn.graphs.arrays import IntArray
from pfgnn.training.evaluate import Forward, predict

NEAREST = 5  # training graphs that a graph is compared with
MOST_GRAPHS = 5000  # training graphs that are looked at, drawn at random from more
ROWS = 1000  # graphs whose distances are computed at a time

Doubles = npt.NDArray[np.float64]


class Unlike(NamedTuple):
    """How the test graphs differ from the training graphs.

    Fields:
        distance: Mean distance to the 5 nearest training graphs in the model's embedding, [R]. The unit is the median
            of this distance among the training graphs themselves.
        larger: Whether the graph has more vertices than any training graph, [R].
        new: Whether a vertex has a category that no training graph has, [R].
    """

    distance: Doubles
    larger: npt.NDArray[np.bool_]
    new: npt.NDArray[np.bool_]


def compare_with_training(run: TrainedRun, dataset: Dataset, test: IntArray, seed: int = 0) -> Unlike | None:
    """Compare the test graphs with the training graphs; None if there are fewer than 2 of these.

    Args:
        run: The model. Its embedding of a graph is what its last layer predicts from.
        dataset: The graphs.
        test: Numbers of the test graphs, [R].
        seed: Seed of the draw, if there are many training graphs.
    """
    train = np.unique(dataset.splits["train"])
    if len(train) < 2:
        return None
    largest = int(dataset.node_counts[train].max())
    new = _new_categories(dataset, train, test)
    if len(train) > MOST_GRAPHS:
        train = np.sort(np.random.default_rng(seed).choice(train, MOST_GRAPHS, replace=False))
    points = embeddings(run, dataset.subset(np.concatenate([train, test])))
    known, seen = points[: len(train)], points[len(train) :]
    scale = known.std(axis=0)
    used = scale > 1e-9 * max(float(scale.max()), 1e-30)  # a column that never changes says nothing
    known, seen = (of[:, used] / scale[used] for of in (known, seen))
    usual = float(np.median(nearest_distance(known, known, itself=True)))
    distance = nearest_distance(seen, known) / (usual if usual > 0 else 1.0)
    return Unlike(distance, dataset.node_counts[test] > largest, new)


def embeddings(run: TrainedRun, graphs: Dataset) -> Doubles:
    """The model's embedding of each graph, [G, F], in one draw."""
    data = Resident(run.prepare(graphs), run.devices.device)
    forward = Forward(run.model, run.devices, run.config.evaluation.particles, embed=True)
    found = predict(forward, data, np.arange(len(graphs)), run.draws(1, None), 0)
    values: Doubles = found[:, run.task.outputs :].double().numpy()
    return values


def nearest_distance(points: Doubles, known: Doubles, itself: bool = False) -> Doubles:
    """Mean distance of each point to its nearest known points, [R].

    Args:
        points: [R, F].
        known: [G, F].
        itself: Whether the points are the known points, so that each one is its own nearest.
    """
    first = int(itself)
    last = min(NEAREST + first, len(known))
    found = []
    squares = (known**2).sum(1)
    for start in range(0, len(points), ROWS):
        piece = points[start : start + ROWS]
        square = (piece**2).sum(1)[:, None] + squares - 2 * piece @ known.T
        near = np.partition(square, last - 1, axis=1)[:, :last]
        found.append(np.sqrt(np.maximum(np.sort(near, axis=1)[:, first:], 0)).mean(1))
    return np.concatenate(found)


def _new_categories(dataset: Dataset, train: IntArray, test: IntArray) -> npt.NDArray[np.bool_]:
    """Whether each test graph has a vertex with a category that no training graph has, [R]."""
    found = np.zeros(len(test), dtype=bool)
    if dataset.x is None or dataset.node_categories is None:
        return found
    own = np.repeat(np.arange(len(test)), dataset.node_counts[test])
    known, seen = (dataset.x[rows_of(dataset.node_counts, graphs)] for graphs in (train, test))
    for before, after in zip(known.T, seen.T, strict=True):
        found[own[~np.isin(after, before)]] = True
    return found
