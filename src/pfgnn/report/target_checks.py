"""The targets of a dataset beside the classes of its graphs: differences, best scores and leaks."""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, rows_of
from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import Shards
from pfgnn.graphs.arrays import IntArray
from pfgnn.report.best_scores import best_score
from pfgnn.report.survey import Survey

FOLD = re.compile(r"fold \d+ ")
NUMBERS = ("mae", "error_ratio")  # metrics of targets that are numbers


class Difference(NamedTuple):
    """How the values of a target differ between the graphs of a pair.

    Fields:
        target: Name of the target.
        pairs: Number of pairs with different values.
        mean: Mean of the absolute differences over all pairs; None for classes.
        most: Largest absolute difference; None for classes.
    """

    target: str
    pairs: int
    mean: float | None
    most: float | None


class Best(NamedTuple):
    """The best scores on a part. None if a score cannot be computed.

    Fields:
        part: Name of the part; "all" for all graphs.
        rows: Number of graphs, or of vertices for a task at node level.
        constant: One prediction for all rows.
        one_wl: The same prediction for all graphs, or vertices, that 1-WL cannot tell apart.
        any_model: The same prediction for isomorphic graphs only. No model can do better that ignores the numbering.
    """

    part: str
    rows: int
    constant: float | None
    one_wl: float | None
    any_model: float | None


class Leak(NamedTuple):
    """Graphs of one part that also occur in another part, up to isomorphism.

    Fields:
        part: Name of the part.
        also_in: Name of the other part.
        graphs: Number of graphs of the part that have a copy in the other one.
        of: Number of graphs of the part.
        numbers: Each of these graphs, from 0, and its first copy in the other part.
        folds: Whether the parts are those of folds, whose numbers are added up.
    """

    part: str
    also_in: str
    graphs: int
    of: int
    numbers: tuple[tuple[int, int], ...]
    folds: bool = False


def target_differences(dataset: Dataset | Shards, mixed: Sequence[Sequence[int]]) -> tuple[Difference, ...]:
    """How the targets of graphs differ between isomorphism classes that 1-WL cannot tell apart.

    Args:
        dataset: The graphs.
        mixed: For each 1-WL class with several isomorphism classes, the first graph of each of them.
    """
    if not mixed or dataset.task.level != "graph":
        return ()
    numbers = dataset.task.metric in NUMBERS
    pairs = sum(len(members) * (len(members) - 1) // 2 for members in mixed)
    y = dataset.y.astype(float)
    names = dataset.task.targets if len(dataset.task.targets) == y.shape[1] else [f"{c}" for c in range(y.shape[1])]
    rows = []
    for column, name in enumerate(names):
        total = most = 0.0
        different = 0
        for members in mixed:
            values = y[members, column]
            values = np.sort(values[~np.isnan(values)])
            k = len(values)
            if k < 2:
                continue
            # In sorted order, value i is subtracted k - 1 - i times and added i times.
            total += float(((2 * np.arange(k) - k + 1) * values).sum())
            most = max(most, float(values[-1] - values[0]))
            equal = np.unique(values, return_counts=True)[1]
            different += k * (k - 1) // 2 - int((equal * (equal - 1) // 2).sum())
        rows.append(Difference(name, different, *((total / pairs, most) if numbers else (None, None))))
    return tuple(rows)


def best_scores(dataset: Dataset | Shards, found: Survey) -> tuple[Best, ...]:
    """The best scores on all graphs, and on each part that is not one of folds."""
    if dataset.task.level == "pair":
        return ()
    parts = {"all": np.arange(len(dataset))}
    parts |= {name: numbers for name, numbers in dataset.splits.items() if not FOLD.match(name)}
    wl_groups, groups = found.wl_classes, found.classes
    if dataset.task.level == "node":
        graph = np.repeat(np.arange(len(dataset)), dataset.node_counts)
        vertex = np.unique(found.vertices, return_inverse=True)[1]
        wl_groups = found.wl_classes[graph] * (int(vertex.max()) + 1) + vertex
    scores = []
    for name, numbers in parts.items():
        rows = rows_of(dataset.node_counts, numbers) if dataset.task.level == "node" else numbers
        if not len(rows):
            continue
        y = dataset.y[rows]
        exact = None if dataset.task.level == "node" else best_score(dataset.task, y, groups[rows])
        constant = best_score(dataset.task, y, np.zeros(len(rows), dtype=np.int64))
        scores.append(Best(name, len(rows), constant, best_score(dataset.task, y, wl_groups[rows]), exact))
    return tuple(scores)


def leaks(dataset: Dataset | Shards, classes: IntArray) -> tuple[Leak, ...]:
    """For each two parts, the graphs of the later one that have a copy in the earlier one. Folds are added up."""
    groups: dict[str, dict[str, IntArray]] = {}
    for name, numbers in dataset.splits.items():
        fold = FOLD.match(name)
        prefix = fold.group() if fold else ""
        groups.setdefault(prefix, {})[name.removeprefix(prefix)] = numbers
    found: dict[tuple[str, str, bool], Leak] = {}
    for prefix, parts in groups.items():
        for (first, there), (second, here) in combinations(parts.items(), 2):
            key = (second, first, bool(prefix))
            before = found.get(key, Leak(second, first, 0, 0, (), bool(prefix)))
            pairs = _copied(classes, here, there)
            named = tuple(dict.fromkeys((*before.numbers, *pairs)))  # a pair may be in several folds
            found[key] = Leak(second, first, before.graphs + len(pairs), before.of + len(here), named, bool(prefix))
    return tuple(leak for leak in found.values() if leak.graphs)


def _copied(classes: IntArray, here: Array, there: Array) -> list[tuple[int, int]]:
    """Each graph of one part that has a copy in another one, and the first such copy."""
    known, first = np.unique(classes[there], return_index=True)
    copied = here[np.isin(classes[here], known)]
    originals = there[first[np.searchsorted(known, classes[copied])]]
    return list(zip(copied.tolist(), originals.tolist(), strict=True))
