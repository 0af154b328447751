"""What a run directory holds. Needs no torch, so that a wrong directory is refused at once."""

from pathlib import Path
from typing import Any, Literal

from pfgnn.errors import InputError
from pfgnn.files import read_json

CONFIG, RECORD = "config.yaml", "record.json"

Resume = Literal["no", "last", "previous"]


def check_directory(directory: Path, resume: Resume) -> None:
    """Refuse a directory that holds a run, unless that run is to go on."""
    if resume == "no" and (directory / CONFIG).exists():
        raise InputError(f"{directory} must be a new directory, but it holds a run; resume it or choose another")


def read_record(directory: Path) -> dict[str, Any]:
    """The record of a finished run, or a sentence that says what is missing."""
    path = directory / RECORD
    if not path.exists():
        started = (directory / CONFIG).exists()
        why = "its run has not finished; resume it with `pfgnn train --resume`" if started else "no run is there"
        raise InputError(f"{directory} must hold a finished run, but {why}")
    return read_json(path)
