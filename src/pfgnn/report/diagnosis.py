"""What `pfgnn diagnose` finds: whether a dataset needs more than 1-WL, and what is odd about it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.copies import conflicting, copies
from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import Shards
from pfgnn.graphs.arrays import IntArray, run_starts
from pfgnn.report.advice import Advice, advise
from pfgnn.report.marked_pairs import tell_apart
from pfgnn.report.survey import Survey, survey
from pfgnn.report.target_checks import (
    Best,
    Difference,
    Leak,
    best_scores,
    leaks,
    target_differences,
)

MOST_PAIRS = 100  # pairs that are tried with T = 1, 2, 3
MOST_EXAMPLES, MOST_IN_AN_EXAMPLE = 5, 4


class Spread(NamedTuple):
    """Smallest, median and largest of some numbers."""

    least: int
    median: float
    most: int


@dataclass(frozen=True)
class Diagnosis:
    """All that was found.

    Args:
        name: Name of the dataset.
        graphs: Number of graphs.
        level: What is predicted: graph, node or pair; None for graphs without labels.
        metric: Metric of the task; None for graphs without labels.
        nodes: Numbers of vertices.
        edges: Numbers of undirected edges.
        several_components: Number of graphs that are not connected.
        wl_classes: Number of classes of graphs that 1-WL cannot tell apart.
        classes: Number of classes of isomorphic graphs.
        mixed_classes: Number of 1-WL classes with graphs that are not isomorphic.
        pairs: Number of pairs of isomorphism classes in one 1-WL class.
        differences: How the targets of these pairs differ; empty if they belong to vertices.
        examples: Numbers of graphs, from 0, that 1-WL cannot tell apart, one of each isomorphism class.
        named_pairs: For a dataset of pairs, how many 1-WL tells apart, and the number of pairs.
        told_apart: For each T, how many of some pairs at most T marks tell apart, and of how many that is known.
        best: Best scores.
        graphs_alike: Number of graphs in which 1-WL gives vertices of different orbits the same colour.
        vertices_alike: Number of their vertices of which this is true.
        unsearched: Number of graphs that were too large for an exact search. They are taken to be isomorphic if 1-WL
            cannot tell them apart, and their vertices to be alike if they look alike.
        copies: Number of graphs that are isomorphic to an earlier one.
        copies_of: Numbers of isomorphic graphs, from 0, for each class that has several.
        conflicts: Number of graphs with an isomorphic copy that has other targets; None if graphs have none.
        conflicts_of: Those of ``copies_of`` whose targets differ.
        leaks: Graphs that occur in several parts.
        advice: Which T and K to take.
    """

    name: str
    graphs: int
    level: str | None
    metric: str | None
    nodes: Spread
    edges: Spread
    several_components: int
    wl_classes: int
    classes: int
    mixed_classes: int
    pairs: int
    differences: tuple[Difference, ...]
    examples: tuple[tuple[int, ...], ...]
    named_pairs: tuple[int, int] | None
    told_apart: dict[int, tuple[int, int]]
    best: tuple[Best, ...]
    graphs_alike: int
    vertices_alike: int
    unsearched: int
    copies: int
    copies_of: tuple[tuple[int, ...], ...]
    conflicts: int | None
    conflicts_of: tuple[tuple[int, ...], ...]
    leaks: tuple[Leak, ...]
    advice: Advice

    def to_json(self) -> dict[str, Any]:
        """The fields as values that JSON can store."""
        plain = {name: _plain(value) for name, value in vars(self).items()}
        return {**plain, "advice": asdict(self.advice)}


def diagnose(
    dataset: Dataset | Shards,
    processes: int = 1,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Diagnosis:
    """Find out whether a dataset needs more than 1-WL. Node and edge features count, positions do not.

    Args:
        dataset: The graphs.
        processes: Number of processes. They are spawned, so with several a script needs an
            ``if __name__ == "__main__"`` guard.
        progress: Called with what is done, the number of graphs done and the number of all graphs.
    """
    at_nodes = dataset.task.level == "node"
    found = survey(dataset, processes, progress, keep_vertices=at_nodes)
    mixed = _mixed(found)
    told = tell_apart(dataset, np.array(_some_pairs(mixed), dtype=np.int64).reshape(-1, 2), processes, progress)
    nodes = dataset.node_counts.astype(np.int64)
    wrong = conflicting(found.classes, dataset.y) if dataset.task.level == "graph" else ()
    named_pairs = _named_pairs(dataset, found)
    unlabelled = dataset.task.level == "pair" and named_pairs is None
    count = sum(len(members) * (len(members) - 1) // 2 for members in mixed)
    return Diagnosis(
        name=dataset.name,
        graphs=len(dataset),
        level=None if unlabelled else dataset.task.level,
        metric=None if unlabelled else dataset.task.metric,
        nodes=_spread(nodes),
        edges=_spread(dataset.edge_counts.astype(np.int64) // 2),
        several_components=int((found.components > 1).sum()),
        wl_classes=len(np.unique(found.wl_classes)),
        classes=len(np.unique(found.classes)),
        mixed_classes=len(mixed),
        pairs=count,
        differences=target_differences(dataset, mixed),
        examples=tuple(tuple(members[:MOST_IN_AN_EXAMPLE]) for members in mixed[:MOST_EXAMPLES]),
        named_pairs=named_pairs,
        told_apart=told,
        best=best_scores(dataset, found),
        graphs_alike=int((found.alike > 0).sum()),
        vertices_alike=int(found.alike.sum()),
        unsearched=int(found.unsearched.sum()),
        copies=len(dataset) - len(np.unique(found.classes)),
        copies_of=copies(found.classes),
        conflicts=sum(map(len, wrong)) if dataset.task.level == "graph" else None,
        conflicts_of=wrong,
        leaks=leaks(dataset, found.classes),
        advice=advise(count, told, int(nodes.max())),
    )


def _mixed(found: Survey) -> list[list[int]]:
    """For each 1-WL class with several isomorphism classes, the first graph of each of them."""
    _, first = np.unique(found.classes, return_index=True)
    first = np.sort(first)
    order = first[np.argsort(found.wl_classes[first], kind="stable")]
    groups = np.split(order, run_starts(found.wl_classes[order])[1:])
    return sorted(group.tolist() for group in groups if len(group) > 1)


def _some_pairs(mixed: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Some pairs of graphs, from as many classes as possible, and from all places of the dataset."""
    waiting: list[Iterator[tuple[int, int]]] = [combinations(members, 2) for members in mixed]
    pairs: list[tuple[int, int]] = []
    while waiting and len(pairs) < MOST_PAIRS:
        left = []
        for more in waiting:
            pair = list(islice(more, 1))
            pairs += pair
            left += [more] if pair else []
        waiting = left
    return pairs if len(pairs) <= MOST_PAIRS else [pairs[k * len(pairs) // MOST_PAIRS] for k in range(MOST_PAIRS)]


def _named_pairs(dataset: Dataset | Shards, found: Survey) -> tuple[int, int] | None:
    pairs = None if isinstance(dataset, Shards) else dataset.pairs
    if pairs is None:
        return None
    return int((found.wl_classes[pairs[:, 0]] != found.wl_classes[pairs[:, 1]]).sum()), len(pairs)


def _spread(numbers: IntArray) -> Spread:
    return Spread(int(numbers.min()), float(np.median(numbers)), int(numbers.max()))


def _plain(value: Any) -> Any:
    """Named tuples as dictionaries, and tuples as lists."""
    if isinstance(value, tuple):
        named = getattr(value, "_asdict", None)
        return _plain(named()) if named else [_plain(entry) for entry in value]
    return {str(key): _plain(entry) for key, entry in value.items()} if isinstance(value, dict) else value
