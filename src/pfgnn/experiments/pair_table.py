"""All pairs of a dataset, such as BREC, compared by :mod:`pfgnn.experiments.compare`, with several seeds.

Every comparison also compares each graph with itself. These are the controls: isomorphic pairs, which must never be
told apart.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pfgnn.argument_checks import check_positive
from pfgnn.data import Dataset
from pfgnn.errors import InputError
from pfgnn.experiments.compare import Evidence, compare_with, same_labels
from pfgnn.experiments.provenance import provenance
from pfgnn.files import read_json, write_json
from pfgnn.training.devices import open_devices
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
        device: "cpu", "cuda" or "auto".
        minutes: Stop after this time; the same call goes on. None for no limit.
        progress: Called after each comparison with the numbers of those done and of all.
    """
    if dataset.pairs is None or not len(dataset.pairs):
        raise InputError(f"the dataset {dataset.name} must have pairs to compare, but it has none")
    for name, least in (("steps", 0), ("particles", 1), ("draws", COLUMNS), ("seeds", 1)):
        check_positive(name, getattr(settings, name), least)
    devices, end = open_devices(device), time.monotonic() + (math.inf if minutes is None else 60 * minutes)
    limit = threshold(COLUMNS, settings.draws, settings.draws, settings.level / (settings.steps + 1))
    about = {"dataset": dataset.name, "settings": settings._asdict(), "threshold": limit}
    record: Record = read_json(out) if out.exists() else {**provenance(devices.device), **about, "comparisons": []}
    if {key: record.get(key) for key in about} != about:
        raise InputError(f"{out} must be a record of the same comparison, but it has other settings; remove it first")
    known = {(row["seed"], row["pair"]) for row in record["comparisons"]}
    wanted = [(seed, pair) for seed in range(settings.seeds) for pair in range(len(dataset.pairs))]
    for seed, pair in wanted:
        if (seed, pair) in known:
            continue
        if time.monotonic() >= end:
            break
        begin = time.perf_counter()
        two = same_labels([dataset.graph(int(number)) for number in dataset.pairs[pair]])
        found = [
            compare_with(two, T, settings.particles, settings.draws, limit, seed, devices)
            for T in range(settings.steps + 1)
        ]
        rows = [{**of._asdict(), "control_t2": list(of.control_t2)} for of in found]
        seconds = round(time.perf_counter() - begin, 3)
        record["comparisons"].append({"seed": seed, "pair": pair, "seconds": seconds, "evidence": rows})
        write_json(out, record)
        progress(len(record["comparisons"]), len(wanted))
    return record


class Category(NamedTuple):
    """What was found about the pairs of one category.

    Fields:
        name: Name of the category.
        pairs: Number of pairs.
        by_steps: How many are told apart with 0, with up to 1, ... and with up to T steps, by every seed.
        most_particles: The largest K of the last step.
        seconds: Mean seconds of a comparison.
    """

    name: str
    pairs: int
    by_steps: list[int]
    most_particles: int
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


def summarise(record: Record, dataset: Dataset) -> tuple[list[Category], Controls]:
    """The table of a record of :func:`compare_pairs`, and its controls. Pairs that were not compared are left out."""
    assert dataset.pairs is not None
    of_graph = {int(graph): name for name, graphs in dataset.splits.items() for graph in graphs}
    of_pair = [of_graph.get(int(first), dataset.name) for first, _ in dataset.pairs]
    steps = range(record["settings"]["steps"] + 1)
    evidence: dict[int, list[list[Evidence]]] = {}
    seconds: dict[int, list[float]] = {}
    for row in record["comparisons"]:
        found = [Evidence(**{**of, "control_t2": tuple(of["control_t2"])}) for of in row["evidence"]]
        evidence.setdefault(row["pair"], []).append(found)
        seconds.setdefault(row["pair"], []).append(row["seconds"])
    table = []
    for name in dict.fromkeys(of_pair):
        own = [pair for pair in evidence if of_pair[pair] == name]
        if own:
            told = [
                sum(all(any(of.told_apart for of in seed[: T + 1]) for seed in evidence[p]) for p in own) for T in steps
            ]
            spent = [value for pair in own for value in seconds[pair]]
            most = max(seed[-1].particles for pair in own for seed in evidence[pair])
            table.append(Category(name, len(own), told, most, sum(spent) / len(spent)))
    controls = [
        [of.control_t2[side] for of in seed] for seeds in evidence.values() for seed in seeds for side in (0, 1)
    ]
    alarms = sum(max(t2) > record["threshold"] for t2 in controls)
    return table, Controls(len(controls), alarms, max((max(t2) for t2 in controls), default=0.0))
