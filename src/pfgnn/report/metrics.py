"""The metrics that a run wrote. Needs no matplotlib, so that a wrong file is refused at once."""

import json
from collections.abc import Mapping
from pathlib import Path

from pfgnn.errors import InputError

Line = Mapping[str, float | None]  # of metrics.jsonl


def read_metrics(path: Path) -> list[Line]:
    """The lines of a run's metrics: the run directory, or a file as metrics.jsonl in it is."""
    file = path / "metrics.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{path} must be a run directory or its metrics.jsonl, but {file} does not exist")
    try:
        found = [json.loads(line) for line in file.read_text().splitlines()]
        if not found or not all({"epoch", "loss", "validation"} <= line.keys() for line in found):
            raise ValueError
    except (ValueError, AttributeError):
        raise InputError(f"{file} must hold lines of a run's metrics, as `pfgnn train` writes them") from None
    return found
