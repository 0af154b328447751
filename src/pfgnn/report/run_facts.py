"""How a row of a table was made: its seeds, T, K, draws, parameters and training time, all read from its records."""

import statistics
from typing import Any, NamedTuple

from pfgnn.errors import InputError, counted, shown
from pfgnn.experiments.rows import Row
from pfgnn.report.results import Runs, numbers, place

NONE = "–"


class RunFacts(NamedTuple):
    """Facts about the runs of a row, as text. The fields are columns of the tables.

    Fields:
        seeds: Number of seeds, such as "4", "2 of 3" if some are missing, or "4 × 5 folds".
        steps: T.
        particles: K in training, and in the test if it is another one.
        draws: Number of predictions of each graph in the test.
        parameters: Number of parameters.
        training: Median time of a training, and the device.
    """

    seeds: str = NONE
    steps: str = NONE
    particles: str = NONE
    draws: str = NONE
    parameters: str = NONE
    training: str = NONE


FACT_COLUMNS = ("seeds", "T", "K", "draws", "parameters", "training, median")


def run_facts(row: Row, runs: Runs | None) -> RunFacts:
    """The facts about the runs of a row. Without runs, each one is a dash.

    Args:
        row: The row.
        runs: Its runs; None if there are none.
    """
    if runs is None:
        return RunFacts()
    steps = _setting(runs, "model", "steps")
    if _value(runs, "model", "kind") != "pfgnn":  # a rival has no steps
        steps = None
    particles = _setting(runs, "model", "particles") if steps else None
    tested = _setting(runs, "evaluation", "particles")
    found = numbers(runs, "parameters")
    return RunFacts(
        seeds_done(row, runs),
        _text(steps),
        f"{particles}, test {tested}" if particles and tested not in (None, particles) else _text(particles),
        _text(_setting(runs, "evaluation", "draws")),
        " to ".join(f"{number:,}" for number in sorted({min(found), max(found)})) if found else NONE,
        _training(runs),
    )


def seeds_done(row: Row, runs: Runs) -> str:
    """How many seeds of a row were run, and of how many if some are missing."""
    planned, done = len(row.run_keys()), len(runs.runs)
    if row.folds is None:
        return str(done) if done >= planned else f"{done} of {planned}"
    if done < planned:
        return f"{done} of {planned} runs"
    return f"{done // row.folds} × {row.folds} folds"


def seconds_text(seconds: float) -> str:
    """A time in seconds, with its unit."""
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.1f} s" if seconds >= 0.05 else "< 0.1 s"


def _value(runs: Runs, group: str, name: str) -> object:
    values: Any = runs.config.get(group)
    return values.get(name) if isinstance(values, dict) else None


def _setting(runs: Runs, group: str, name: str) -> int | None:
    """A setting of the runs that is a whole number or null."""
    value = _value(runs, group, name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InputError(f"{runs.path}: {group}.{name} must be a whole number or null, but it is {shown(value)}")


def _text(number: int | None) -> str:
    return NONE if number is None else str(number)


def _training(runs: Runs) -> str:
    """The median seconds of a training on each device."""
    by_device: dict[str, list[float]] = {}
    for run, seconds in zip(runs.runs, numbers(runs, "seconds.training"), strict=False):  # none if one is null
        device, devices = run.get("device"), run.get("devices", 1)
        if not isinstance(device, str) or not isinstance(devices, int):
            raise InputError(f"{place(runs, run)}: device must be a name, but it is {shown(device)}")
        by_device.setdefault(device if devices == 1 else counted(devices, device), []).append(seconds)
    return "; ".join(f"{seconds_text(statistics.median(of))}, {device}" for device, of in by_device.items()) or NONE
