"""Reads the metrics of a run. It does not import matplotlib, so that a wrong file is refused at once."""

import json
from collections.abc import Mapping
from pathlib import Path

from pfgnn.errors import InputError

Line = Mapping[str, float | None]  # one line of metrics.jsonl


def read_metrics(path: Path) -> list[Line]:
    """Read the metrics of a run from its directory, or from a file like its metrics.jsonl."""
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
