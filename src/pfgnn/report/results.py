"""The gathered records of a table: a row's numbers, and what the runs make of them."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pfgnn.errors import InputError
from pfgnn.experiments.row_file import Record, read_gathered
from pfgnn.experiments.rows import Measure
from pfgnn.experiments.tables import TABLES, find_table, row_path

MISSING = object()


class Runs(NamedTuple):
    """The runs of a row and the file they are from."""

    path: Path
    runs: list[Record]


def read_results(results: Path, name: str) -> dict[str, Runs]:
    """The runs of each row of a table that has any, by the row's name.

    Args: results: the folder of gathered records.  name: of the table.
    """
    rows = find_table(name).rows
    known = {row_path(results, table, row) for table, spec in TABLES.items() for row in spec.rows}
    for path in sorted((results / name).glob("*.json")):
        if path not in known:
            raise InputError(f"{path} must be named after a row of {name}, but {path.stem} is none")
    paths = {row.name: row_path(results, name, row) for row in rows}
    return {row: Runs(path, read_gathered(path).runs) for row, path in paths.items() if path.exists()}


def values(row: Runs, measure: Measure) -> list[float]:
    """A measure of each run; none if the runs have none, such as the accuracy of a task without classes."""
    found = numbers(row, measure.path)
    of = numbers(row, measure.of) if measure.of else [1.0] * len(found)
    return [measure.scale * value / whole for value, whole in zip(found, of, strict=True)] if found else []


def summary(row: Runs, measure: Measure) -> str:
    """The runs' numbers as one; of several, the mean with the sample deviation (n - 1)."""
    found, digits = values(row, measure), measure.digits
    if not found:
        return "-"
    if measure.statistic == "total":
        assert measure.of is not None
        return f"{sum(numbers(row, measure.path))} of {sum(numbers(row, measure.of))}"
    if measure.statistic == "mean":
        spread = f" ± {_deviation(found):.{digits}f}" if len(found) > 1 else ""
        return f"{statistics.fmean(found):.{digits}f}{spread}"
    return f"{STATISTICS[measure.statistic](found):.{digits}f}"


def numbers(row: Runs, path: str) -> list[float]:
    """The number at a dotted path of each run's record; none if it is null in any."""
    found: list[float] = []
    for run in row.runs:
        value: Any = run
        for key in path.split("."):
            value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            place = f"{row.path}, seed {run['seed']}" + ("" if run["fold"] is None else f", fold {run['fold']}")
            came = "it is not there" if value is MISSING else f"it is {value!r}"
            raise InputError(f"{place}: {path} must be a number, but {came}")
        if value is None:
            return []
        found.append(value)
    return found


def _deviation(numbers: Sequence[float]) -> float:
    """The sample deviation; 0 of a single number."""
    return statistics.stdev(numbers) if len(numbers) > 1 else 0.0


STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "max": max,
    "min": min,
    "std": _deviation,
}
