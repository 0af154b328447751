"""All pairs of a dataset, such as BREC, compared by :mod:`pfgnn.experiments.compare`, with several seeds.

Every comparison also compares each graph with itself. These are the controls: isomorphic pairs, which must never be
told apart.
"""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pfgnn.argument_checks import check_positive, choose
from pfgnn.data import Dataset
from pfgnn.errors import InputError
from pfgnn.experiments.compare import Evidence, compare_with, same_labels, shared_threshold
from pfgnn.experiments.limit import steps_to_differ
from pfgnn.experiments.pair_training import Policy, train_and_compare
from pfgnn.experiments.provenance import provenance
from pfgnn.experiments.run_lock import locked_record
from pfgnn.files import read_json, write_json
from pfgnn.graphs.graph import Graph
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.distinguish import COLUMNS, threshold

Record = dict[str, Any]


class Settings(NamedTuple):
    """How pairs are compared.

    Fields:
        steps: Largest T. Without training, all T from 0 on are tried, also after the pair is told apart, for the sake
            of the controls. With training, a model with T steps reads all of them apart.
        particles: Largest K.
        draws: Outputs of each graph that are compared.
        level: Largest probability of a false alarm, over all T together.
        seeds: Number of comparisons of each pair.
        updates: Most updates of the training for each pair; 0 to train nothing.
        policy: "learned" or "uniform"; without training it is always uniform.
        controls: Pairs of samples of each graph that are compared with each other.
    """

    steps: int = 2
    particles: int = 16384
    draws: int = 32
    level: float = 1e-6
    seeds: int = 1
    updates: int = 0
    policy: Policy = "learned"
    controls: int = 1


def compare_pairs(
    dataset: Dataset,
    out: Path,
    settings: Settings,
    device: str = "auto",
    minutes: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Record:
    """Compare the pairs of a dataset, and write the record after each one. What the record has already is kept.

    Raise an InputError if another process writes the record.

    Args:
        dataset: A dataset with pairs. The parts of the dataset are the categories of the table.
        out: Record to write.
        settings: How to compare.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        minutes: Stop after this time; the same call goes on. None for no limit.
        progress: Called after each comparison with the numbers of those done and of all.
    """
    least = {"steps": 0, "particles": 1, "draws": COLUMNS, "seeds": 1, "updates": 0, "controls": 1}
    for name, bound in least.items():
        check_positive(name, getattr(settings, name), bound)
    choose("policy", settings.policy, {"learned": None, "uniform": None})
    devices = open_devices(device)
    T, K, draws, level, _, updates, policy, controls = settings
    limit = threshold(T + 1, draws, draws, level) if updates else shared_threshold(T + 1, draws, level)

    def compare(graphs: list[Graph], seed: int) -> Record:
        if updates:
            found = [train_and_compare(graphs, T, K, draws, limit, seed, devices, updates, policy, controls)]
        else:
            dataset = same_labels(graphs)
            found = [compare_with(dataset, t, K, draws, limit, seed, devices, controls) for t in range(T + 1)]
        lists = ("control_t2", "published_control_t2")  # as JSON has them
        return {"evidence": [of._asdict() | {name: list(getattr(of, name)) for name in lists} for of in found]}

    about = {"settings": settings._asdict(), "threshold": limit}
    return _all_pairs(dataset, out, about, compare, settings.seeds, devices, minutes, progress)


def compare_limits(
    dataset: Dataset,
    out: Path,
    steps: int = 4,
    minutes: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Record:
    """Find for each pair the smallest T that tells it apart in the limit; see :mod:`pfgnn.experiments.limit`.

    Args:
        dataset: As in :func:`compare_pairs`.
        out: As in :func:`compare_pairs`.
        steps: Largest T to try.
        minutes: As in :func:`compare_pairs`.
        progress: As in :func:`compare_pairs`.
    """

    def compare(graphs: list[Graph], seed: int) -> Record:
        left, right = graphs
        return {"least steps": steps_to_differ(left, right, steps)}

    return _all_pairs(dataset, out, {"steps": steps}, compare, 1, open_devices("cpu"), minutes, progress)


def _all_pairs(
    dataset: Dataset,
    out: Path,
    about: Record,
    compare: Callable[[list[Graph], int], Record],
    seeds: int,
    devices: Devices,
    minutes: float | None,
    progress: Callable[[int, int], None],
) -> Record:
    """Call ``compare`` with the graphs of each pair and with each seed, and write what it finds."""
    if dataset.pairs is None or not len(dataset.pairs):
        raise InputError(f"the dataset {dataset.name} must have pairs to compare, but it has none")
    end = time.monotonic() + (math.inf if minutes is None else 60 * minutes)
    about = {"dataset": dataset.name, **about}
    with locked_record(out) as lock:
        record: Record = read_json(out) if out.exists() else {**provenance(devices.device), **about, "comparisons": []}
        if {key: record.get(key) for key in about} != about:
            raise InputError(
                f"{out} must be a record of the same comparison, but it has other settings; remove it first"
            )
        _check_comparisons(out, record.get("comparisons"), len(dataset.pairs))
        known = {(row["seed"], row["pair"]) for row in record["comparisons"]}
        wanted = [(seed, pair) for seed in range(seeds) for pair in range(len(dataset.pairs))]
        for seed, pair in wanted:
            if (seed, pair) in known:
                continue
            if time.monotonic() >= end:
                break
            begin = time.perf_counter()
            found = compare([dataset.graph(int(number)) for number in dataset.pairs[pair]], seed)
            seconds = round(time.perf_counter() - begin, 3)
            record["comparisons"].append({"seed": seed, "pair": pair, "seconds": seconds, **found})
            lock.check()
            write_json(out, record)
            progress(len(record["comparisons"]), len(wanted))
        return record


def _check_comparisons(out: Path, rows: object, pairs: int) -> None:
    """Raise an InputError if a record that shall be gone on with does not have rows of comparisons."""
    named = {"seed": int, "pair": int, "seconds": int | float}
    if not isinstance(rows, list) or not all(
        isinstance(row, dict)
        and all(isinstance(row.get(name), kind) for name, kind in named.items())
        and 0 <= row["pair"] < pairs
        and ("evidence" in row or "least steps" in row)
        for row in rows
    ):
        raise InputError(
            f"{out} must hold the comparisons of pairs, as `pfgnn pairs` writes them, but it holds something else; "
            "remove it first"
        )


class Category(NamedTuple):
    """What was found about the pairs of one category.

    Fields:
        name: Name of the category.
        pairs: Number of pairs.
        by_steps: How many are told apart with 0, with up to 1, ... and with up to T steps, by every seed.
        published: The same by the published rule, with any number of steps; None in the limit.
        seconds: Mean seconds of a comparison.
    """

    name: str
    pairs: int
    by_steps: list[int]
    published: int | None
    seconds: float


class Controls(NamedTuple):
    """The isomorphic pairs.

    Fields:
        number: Number of pairs of samples of one graph.
        false_alarms: How many of them were told apart with any number of steps.
        largest_t2: Their largest T².
    """

    number: int
    false_alarms: int
    largest_t2: float


def summarise(record: Record, dataset: Dataset) -> list[Category]:
    """The table of a record. Pairs that were not compared are left out."""
    assert dataset.pairs is not None
    of_graph = {int(graph): name for name, graphs in dataset.splits.items() for graph in graphs}
    return count_categories(record, [of_graph.get(int(first), dataset.name) for first, _ in dataset.pairs])


def count_categories(record: Record, of_pair: Sequence[str]) -> list[Category]:
    """As :func:`summarise`, where the dataset is not at hand.

    Args:
        record: The record.
        of_pair: The category of each pair of the dataset.
    """
    most = record["settings"]["steps"] if "settings" in record else record["steps"]
    table = []
    for name in dict.fromkeys(of_pair):
        rows = [row for row in record["comparisons"] if of_pair[row["pair"]] == name]
        pairs = {row["pair"] for row in rows}
        if rows:
            counts = [_count(rows, T) for T in range(most + 1)]
            published = _count(rows, most, by_published_rule=True) if "evidence" in rows[0] else None
            table.append(Category(name, len(pairs), counts, published, fmean(row["seconds"] for row in rows)))
    return table


def _count(rows: list[Record], steps: int, by_published_rule: bool = False) -> int:
    """How many pairs every comparison tells apart with up to T steps."""

    def tells(row: Record) -> bool:
        if "evidence" not in row:  # in the limit
            return row["least steps"] is not None and row["least steps"] <= steps
        found = [Evidence(**of) for of in row["evidence"] if of["steps"] <= steps]
        return any(of.published_told_apart if by_published_rule else of.told_apart for of in found)

    pairs: dict[int, bool] = {}
    for row in rows:
        pairs[row["pair"]] = tells(row) and pairs.get(row["pair"], True)
    return sum(pairs.values())


def count_controls(record: Record) -> Controls:
    """The controls of a record of :func:`compare_pairs`. One with several numbers of steps counts once."""
    controls = [
        max(values)
        for row in record["comparisons"]
        for values in zip(*(of["control_t2"] for of in row["evidence"]), strict=True)
    ]
    alarms = sum(t2 > record["threshold"] for t2 in controls)
    return Controls(len(controls), alarms, max(controls, default=0.0))
