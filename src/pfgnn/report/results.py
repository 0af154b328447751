"""Reads the records of a table, and summarises the numbers of each row."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pfgnn.errors import InputError, shown
from pfgnn.experiments.row_file import Record, read_gathered
from pfgnn.experiments.rows import Measure
from pfgnn.experiments.tables import TABLES, find_table, row_path

MISSING = object()  # stands for a key that a record does not have
LARGEST = 1e100  # no result is larger, and the squares of such numbers can be added up


class Runs(NamedTuple):
    """The runs of a row.

    Fields:
        path: The file that they were read from.
        runs: The record of each run.
        config: Config of all runs, without seed and fold.
    """

    path: Path
    runs: list[Record]
    config: Mapping[str, Any] = MappingProxyType({})


def read_results(results: Path, name: str) -> dict[str, Runs]:
    """Read the runs of a table, by the name of the row. Rows without runs are left out.

    Args:
        results: Folder of the records.
        name: Name of the table.
    """
    rows = find_table(name).rows
    known = {row_path(results, table, row) for table, spec in TABLES.items() for row in spec.rows}
    for path in sorted((results / name).glob("*.json")):
        if path not in known:
            raise InputError(f"{path} must be named after a row of {name}, but there is no row {path.stem}")
    paths = {row.name: row_path(results, name, row) for row in rows}
    found = {row: (path, read_gathered(path)) for row, path in paths.items() if path.exists()}
    return {row: Runs(path, gathered.runs, gathered.config) for row, (path, gathered) in found.items() if gathered.runs}


def values(row: Runs, measure: Measure) -> list[float]:
    """The measure of each run. Empty if the runs do not have it, such as accuracy in a task without classes."""
    found = numbers(row, measure.path)
    of = numbers(row, measure.of) if measure.of else [1.0] * len(found)
    if measure.of and 0 in of:
        raise InputError(f"{row.path}: {measure.of} must not be 0, because {measure.path} is divided by it")
    made = [measure.scale * value / whole for value, whole in zip(found, of, strict=True)] if found and of else []
    for run, value in zip(row.runs, made, strict=False):
        if not abs(value) <= LARGEST:  # NaN too
            share = f", divided by {measure.of}," if measure.of else ""
            raise InputError(f"{place(row, run)}: {measure.path}{share} must be a number of at most {LARGEST:g}")
    return made


def figures(row: Runs, measure: Measure) -> dict[str, Any] | None:
    """The statistic of a measure over the runs, as numbers; None if the runs do not have it.

    Returns:
        The statistic by its name: "mean" with "std" (n - 1; None for one run), "total" with "of", "median", and so on.
        Beside it "n", the number of runs, and "seeds".
    """
    found = values(row, measure)
    if not found:
        return None
    about = {"n": len(found), "seeds": sorted({run["seed"] for run in row.runs})}
    if measure.statistic == "total":
        assert measure.of is not None
        return {"total": sum(numbers(row, measure.path)), "of": sum(numbers(row, measure.of)), **about}
    if measure.statistic == "mean":
        return {"mean": statistics.fmean(found), "std": _deviation(found) if len(found) > 1 else None, **about}
    return {measure.statistic: STATISTICS[measure.statistic](found), **about}


def summary(row: Runs, measure: Measure) -> str:
    """The statistic of a measure over the runs, as text. A mean of several runs has the deviation after it."""
    found, digits = figures(row, measure), measure.digits
    if found is None:
        return "-"
    if measure.statistic == "total":
        return f"{found['total']} of {found['of']}"
    spread = "" if found.get("std") is None or measure.statistic == "std" else f" ± {found['std']:.{digits}f}"
    return f"{found[measure.statistic]:.{digits}f}{spread}"


def numbers(row: Runs, path: str) -> list[float]:
    """The number of each run at a path of keys in its record, such as "pairs.told_apart".

    Empty if the number is null in any run.
    """
    found: list[float] = []
    for run in row.runs:
        value: Any = run
        for key in path.split("."):
            value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            came = "it is not there" if value is MISSING else f"it is {shown(value)}"
            raise InputError(f"{place(row, run)}: {path} must be a number, but {came}")
        if value is None:
            return []
        if not abs(value) <= LARGEST:  # NaN too
            raise InputError(f"{place(row, run)}: {path} must be a number of at most {LARGEST:g}")
        found.append(value)
    return found


def place(row: Runs, run: Record) -> str:
    """The file, the seed and the fold of a run, for a message."""
    return f"{row.path}, seed {run['seed']}" + ("" if run["fold"] is None else f", fold {run['fold']}")


def _deviation(numbers: Sequence[float]) -> float:
    """The sample standard deviation (n - 1); 0 for a single number."""
    return statistics.stdev(numbers) if len(numbers) > 1 else 0.0


STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "max": max,
    "min": min,
    "std": _deviation,
}
