"""Reads the metrics of a run. It does not import matplotlib, so that a wrong file is refused at once."""

import json
from collections.abc import Mapping
from pathlib import Path

from pfgnn.errors import InputError, shown
from pfgnn.files import read_text, reading

LARGEST = 2**53  # of an integer
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
