"""Reads the metrics of a run. It does not import matplotlib, so that a wrong file is refused at once."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pfgnn.errors import InputError, shown
from pfgnn.experiments.run_directory import RECORD
from pfgnn.files import read_json, read_text, reading

LARGEST = 2**53  # of an integer
SEED = re.compile(r"((?P<setting>.+)-)?seed\d+(-fold\d+)?")  # how `train` and `reproduce` name their runs
Line = Mapping[str, float | None]  # one line of metrics.jsonl


def read_metrics(path: Path) -> list[Line]:
    """Read the metrics of a run from its directory, or from a file like its metrics.jsonl."""
    file = path / "metrics.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{path} must be a run directory or its metrics.jsonl, but {file} does not exist")
    must = "hold lines of a run's metrics, as `pfgnn train` writes them"
    with reading(file, must):
        found = [json.loads(line) for line in read_text(file).splitlines()]
        for number, line in enumerate(found, start=1):
            for key in ("epoch", "loss", "validation"):
                value = line[key]
                too_large = isinstance(value, int) and abs(value) > LARGEST
                if too_large or not isinstance(value, int | float | None):
                    raise InputError(f"{file} must {must}, but {key} is {shown(value)} in line {number}")
    if not found:
        raise InputError(f"{file} must {must}, but it has no line")
    return found


def validation_metric(path: Path) -> str | None:
    """The name of a run's score in validation; None if the run has no result yet.

    See :meth:`pfgnn.training.validate.Validation.score`.

    Args:
        path: Its directory, or its metrics.jsonl.
    """
    record = (path if path.is_dir() else path.parent) / RECORD
    if not record.exists():
        return None
    found = read_json(record)
    with reading(record, "be the record of a run"):
        result = next(iter(found["results"].values()), None)
        if result is None:
            return None
        training = found["config"]["training"]
        if training.get("select") == "log_loss":
            return "log loss"
        metric = str(result["metric"])
        several = any(name.startswith("mae/") for name in result["scores"])
        return "mae, in deviations," if several and metric == "mae" and training.get("standardise") else metric


def group_runs(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Group the runs that differ in their seed or fold only, by their names and folders.

    Args:
        paths: Run directories, or metrics.jsonl files.

    Returns:
        The paths of each group, by a name that no other group has: the end of its path, as long as needed.
    """
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        run = path.resolve()
        run = run.parent if run.name == "metrics.jsonl" else run.with_suffix("") if run.suffix == ".jsonl" else run
        seed = SEED.fullmatch(run.name)
        group = run if seed is None else run.with_name(seed["setting"]) if seed["setting"] else run.parent
        groups.setdefault(group, []).append(path)
    return {_short(group, list(groups)): of for group, of in groups.items()}


def _short(path: Path, paths: Sequence[Path]) -> str:
    """The shortest end of a path that no other one has."""
    for length in range(1, len(path.parts)):
        end = path.parts[-length:]
        if sum(other.parts[-length:] == end for other in paths) == 1:
            return "/".join(end)
    return str(path)
