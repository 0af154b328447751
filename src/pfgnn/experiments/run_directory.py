"""The files of a run directory. This module does not import torch, so that checks of a directory are fast."""

from pathlib import Path
from types import UnionType
from typing import Any, Literal

from pfgnn.errors import InputError, shown
from pfgnn.experiments.run_lock import check_free
from pfgnn.files import read_json

CONFIG, RECORD = "config.yaml", "record.json"

# What every record has that is read again, with its types.
RECORD_KEYS: dict[str, type | UnionType] = {
    "config": dict,
    "data": str,
    "selected": str,
    "device": str,
    "seconds": dict,
    "updates": int,
    "parameters": int,
    "results": dict,
    "pairs": dict | None,
}

Resume = Literal["no", "last", "previous"]


def check_directory(directory: Path, resume: Resume) -> None:
    """Raise an InputError if a process trains in a directory, or if a new run would overwrite the run in it."""
    check_free(directory)
    check_new(directory, resume)


def check_new(directory: Path, resume: Resume) -> None:
    """Raise an InputError if a new run would overwrite the run in a directory."""
    if resume == "no" and (directory / CONFIG).exists():
        raise InputError(f"{directory} must be a new directory, but it holds a run; resume it or choose another")


def read_record(directory: Path) -> dict[str, Any]:
    """Read the record of a finished run. If there is none, the InputError says why."""
    path = directory / RECORD
    if not path.exists():
        started = (directory / CONFIG).exists()
        why = "its run has not finished; resume it with `pfgnn train --resume`" if started else "no run is there"
        raise InputError(f"{directory} must hold a finished run, but {why}")
    record = read_json(path)
    for key, kind in RECORD_KEYS.items():
        if key not in record or not isinstance(record[key], kind):
            came = f"{key} is {shown(record[key])}" if key in record else f"it has no {key}"
            raise InputError(f"{path} must be the record of a run, as `pfgnn train` writes it, but {came}")
    return record
