"""How far a run is, and how long the runs of a table take, from what earlier runs recorded."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pfgnn.errors import InputError
from pfgnn.experiments.row_file import Record, read_gathered
from pfgnn.training.metrics_file import METRICS


class Running(NamedTuple):
    """How far a run is.

    Fields:
        name: Name of the run, such as "csl-gin/seed0-fold2".
        update: Updates done so far.
        updates: Updates in all; 0 if nothing is known yet.
        epoch: Epochs done so far.
        loss: Task loss; None if nothing is known yet.
        validation: Last validation metric; None if there is none.
    """

    name: str
    update: int = 0
    updates: int = 0
    epoch: int = 0
    loss: float | None = None
    validation: float | None = None

    @property
    def share(self) -> float:
        """Share of the updates that are done, in 0..1."""
        return min(1.0, self.update / self.updates) if self.updates else 0.0


class Expected(NamedTuple):
    """How long runs should take.

    Fields:
        seconds: Time of the runs that have a record to compare with, one after another.
        runs: Number of these runs.
        unknown: Number of the other runs.
        devices: The devices of the records.
    """

    seconds: float
    runs: int
    unknown: int
    devices: tuple[str, ...]


def run_name(directory: Path) -> str:
    """The name of a run of a table: the names of its row and of its folder."""
    return f"{directory.parent.name}/{directory.name}"


def read_progress(directory: Path) -> Running:
    """How far a run in a directory is, from the last line of its metrics. Another process may be writing them."""
    name = run_name(directory)
    try:
        lines = (directory / METRICS).read_bytes().split(b"\n")[:-1]  # what follows the last line end is half-written
        last = json.loads(lines[-1])
        losses = [None if last[key] is None else float(last[key]) for key in ("loss", "validation")]
        return Running(name, int(last["update"]), int(last["updates"]), int(last["epoch"]), *losses)
    except (OSError, IndexError, KeyError, TypeError, ValueError):
        return Running(name)


def expected_time(missing: Mapping[Path, Sequence[Path]], recorded: Sequence[Path]) -> Expected:
    """How long runs should take: as long as the recorded runs of their row, less the share that is done already.

    Args:
        missing: The run directories of each row, by the file of the row's records, relative to the folder of records.
        recorded: Folders of records, the most important one first.
    """
    seconds, runs, unknown = 0.0, 0, 0
    devices: list[str] = []
    for file, directories in missing.items():
        records = next((found for folder in recorded if (found := _records(folder / file))), [])
        if not records:
            unknown += len(directories)
            continue
        one = fmean(record["seconds"]["training"] + record["seconds"]["evaluation"] for record in records)
        seconds += one * sum(1 - read_progress(directory).share for directory in directories)
        runs += len(directories)
        devices += [str(record.get("device", "an unknown device")) for record in records]
    return Expected(seconds, runs, unknown, tuple(dict.fromkeys(devices)))


def _records(path: Path) -> list[Record]:
    """The records of a row that tell their time; none if the file is missing or cannot be used."""
    try:
        found = read_gathered(path).runs if path.exists() else []
    except InputError:
        return []
    return [record for record in found if _has_time(record.get("seconds"))]


def _has_time(seconds: Any) -> bool:
    names = ("training", "evaluation")
    return isinstance(seconds, dict) and all(isinstance(seconds.get(name), int | float) for name in names)
