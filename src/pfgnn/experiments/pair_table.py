"""All pairs of a dataset, such as BREC, compared by :mod:`pfgnn.experiments.compare`, with several seeds.

Every comparison also compares each graph with itself. These are the controls: isomorphic pairs, which must never be
told apart.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pfgnn.argument_checks import check_positive
from pfgnn.data import Dataset
from pfgnn.errors import InputError
from pfgnn.experiments.compare import Evidence, compare_with, same_labels
from pfgnn.experiments.limit import least_steps
from pfgnn.experiments.provenance import provenance
from pfgnn.files import read_json, write_json
from pfgnn.graphs.graph import Graph
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.distinguish import COLUMNS, threshold

Record = dict[str, Any]


class Settings(NamedTuple):
    """How pairs are compared.

    Fields:
        steps: Largest T. All T from 0 on are tried, also after the pair is told apart, for the sake of the controls.
        particles: Largest K.
        draws: Outputs of each graph that are compared.
        level: Largest probability of a false alarm, over all T together.
        seeds: Number of comparisons of each pair.
    """

    steps: int = 2
    particles: int = 16384
    draws: int = 32
    level: float = 1e-6
    seeds: int = 1


def compare_pairs(
    dataset: Dataset,
    out: Path,
    settings: Settings,
    device: str = "auto",
    minutes: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Record:
    """Compare the pairs of a dataset, and write the record after each one. What the record has already is kept.

    Args:
        dataset: A dataset with pairs. The parts of the dataset are the categories of the table.
        out: Record to write.
        settings: How to compare.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        minutes: Stop after this time; the same call goes on. None for no limit.
        progress: Called after each comparison with the numbers of those done and of all.
    """
    for name, least in (("steps", 0), ("particles", 1), ("draws", COLUMNS), ("seeds", 1)):
        check_positive(name, getattr(settings, name), least)
    devices = open_devices(device)
    limit = threshold(COLUMNS, settings.draws, settings.draws, settings.level / (settings.steps + 1))

    def compare(graphs: list[Graph], seed: int) -> Record:
        found = [
            compare_with(same_labels(graphs), T, settings.particles, settings.draws, limit, seed, devices)
            for T in range(settings.steps + 1)
        ]
        return {"evidence": [{**of._asdict(), "control_t2": list(of.control_t2)} for of in found]}

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
        return {"least steps": least_steps(left, right, steps)}

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
    record: Record = read_json(out) if out.exists() else {**provenance(devices.device), **about, "comparisons": []}
    if {key: record.get(key) for key in about} != about:
        raise InputError(f"{out} must be a record of the same comparison, but it has other settings; remove it first")
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
        write_json(out, record)
        progress(len(record["comparisons"]), len(wanted))
    return record


class Category(NamedTuple):
    """What was found about the pairs of one category.

    Fields:
        name: Name of the category.
        pairs: Number of pairs.
        by_steps: How many are told apart with 0, with up to 1, ... and with up to T steps, by every seed.
        seconds: Mean seconds of a comparison.
    """

    name: str
    pairs: int
    by_steps: list[int]
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
    of_pair = [of_graph.get(int(first), dataset.name) for first, _ in dataset.pairs]
    most = record["settings"]["steps"] if "settings" in record else record["steps"]
    table = []
    for name in dict.fromkeys(of_pair):
        rows = [row for row in record["comparisons"] if of_pair[row["pair"]] == name]
        pairs = {row["pair"] for row in rows}
        if rows:
            least = {pair: max(_least_steps(row) for row in rows if row["pair"] == pair) for pair in pairs}
            counts = [sum(steps <= T for steps in least.values()) for T in range(most + 1)]
            table.append(Category(name, len(pairs), counts, fmean(row["seconds"] for row in rows)))
    return table


def _least_steps(row: Record) -> float:
    """The smallest T with which a comparison tells the pair apart; infinite if there is none."""
    if "evidence" not in row:
        return math.inf if row["least steps"] is None else row["least steps"]
    found = (Evidence(**{**of, "control_t2": tuple(of["control_t2"])}) for of in row["evidence"])
    return min((of.steps for of in found if of.told_apart), default=math.inf)


def count_controls(record: Record) -> Controls:
    """The controls of a record of :func:`compare_pairs`: one for each graph of each comparison."""
    controls = [
        max(of["control_t2"][side] for of in row["evidence"]) for row in record["comparisons"] for side in (0, 1)
    ]
    alarms = sum(t2 > record["threshold"] for t2 in controls)
    return Controls(len(controls), alarms, max(controls, default=0.0))
