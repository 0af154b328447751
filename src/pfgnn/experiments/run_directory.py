"""The files of a run directory. This module does not import torch, so that checks of a directory are fast."""

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal

from pfgnn.errors import InputError, shown
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.fit_command import BEFORE_TRAINING, FACTS, fit_command
from pfgnn.experiments.run_lock import check_free
from pfgnn.files import check_folder, check_version, read_json

CONFIG, RECORD = "config.yaml", "record.json"
# The files of a run directory and of a model folder, besides checkpoints.
OWN = (
    *(CONFIG, RECORD, "metrics.jsonl", "fit.json", "data.pfgnn", "parts.csv", "rejects.txt", "calibration.json"),
    *("test_predictions.csv", "report.html", "baselines.json", "card.md"),
)

# The version of a run directory. It grows when an older pfgnn could not read the files of a newer one. A newer pfgnn
# reads all older versions. Records of pfgnn 0.2.0 have no version; they are of version 1.
FORMAT = 1

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
    check_folder(directory)
    check_free(directory)
    check_new(directory, resume)


def check_new(directory: Path, resume: Resume) -> None:
    """Raise an InputError if a new run would overwrite the run in a directory."""
    if resume == "no" and (directory / CONFIG).exists():
        raise InputError(f"{directory} must be a new directory, but it holds a run; resume it or choose another")


def check_out(folder: Path) -> None:
    """Raise an InputError if a new fit would mix its files with others. See :func:`check_new` for those of a run.

    Args:
        folder: Model folder to write.
    """
    check_folder(folder)
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if CONFIG not in names and (others := sorted(names - BEFORE_TRAINING)):
        what = f"{shown(others[0])} and {len(others) - 1} more" if len(others) > 1 else shown(others[0])
        raise InputError(f"--out must be a new or an empty folder, but {folder} holds other files: {what}")


def check_not_own(path: Path) -> None:
    """Raise an InputError if a file to write would replace one of a run or of a model folder."""
    if (path.parent / RECORD).exists() and (path.name in OWN or path.suffix == ".safetensors"):
        raise InputError(f"{path} must not be a file of the run or model in {path.parent}; choose another name")


def read_record(directory: Path) -> dict[str, Any]:
    """Read the record of a finished run. If there is none, the InputError says why."""
    path = directory / RECORD
    if not path.exists():
        started = (directory / CONFIG).exists()
        again = f"its run has not finished; go on with: {resume_command(directory, '--resume')}"
        why = again if started else "no run is there"
        raise InputError(f"{directory} must hold a finished run, but {why}")
    record = read_json(path)
    check_version(path, record.get("format", 1), FORMAT)
    for key, kind in RECORD_KEYS.items():
        if key not in record or not isinstance(record[key], kind):
            came = f"{key} is {shown(record[key])}" if key in record else f"it has no {key}"
            raise InputError(f"{path} must be the record of a run, as `pfgnn train` writes it, but {came}")
    return record


def ended_early(record: Mapping[str, Any]) -> str:
    """A sentence that says why a training did fewer epochs than planned; "" if it did all, or was ended otherwise.

    Args:
        record: The record of the run.
    """
    training = record.get("config", {}).get("training", {})
    unit = "updates" if training.get("epochs") is None else "epochs"
    planned, patience = training.get(unit), training.get("patience")
    if planned is None or patience is None or not record["updates"]:
        return ""
    waited = record["epochs"] - math.ceil(record["epochs"] * record["selected_update"] / record["updates"])
    if record[unit] >= planned or waited <= patience:
        return ""
    return (
        f"The training ended after {record[unit]} of {planned} {unit}, because the validation score had not become "
        f"better for {waited} epochs."
    )


def resume_command(directory: Path, option: str) -> str:
    """The command that goes on with a run.

    Args:
        directory: Run directory.
        option: "--resume" or "--resume-previous".
    """
    if (fitted := fit_command(directory, directory, option)) is not None:
        return fitted
    return shlex.join(["pfgnn", "train", str(directory / CONFIG), "--out", str(directory), option])


def with_absolute_path(config: Config) -> Config:
    """The config with the absolute path of its data, if they have one. So they are found from other folders."""
    file = config.data.file
    return config if file is None else replace(config, data=replace(config.data, name=os.path.abspath(file)))


def read_run_config(directory: Path, overrides: Sequence[str] = ()) -> Config:
    """Read the config of a run.

    Earlier versions wrote the path of a packed file as it was given. A relative one is searched from here, and then
    from the run directory and each folder above it. A model folder has its own file, also if it was moved or copied.

    Args:
        directory: Run directory.
        overrides: See :func:`pfgnn.experiments.config_file.read_config`.
    """
    config = read_config(directory / CONFIG, overrides)
    file = config.data.file
    here = directory.absolute()
    moved = any(override.startswith("data.name=") for override in overrides)
    if file is not None and not moved and (here / FACTS).exists() and (here / file.name).exists():
        file = here / file.name
        config = replace(config, data=replace(config.data, name=str(file)))
    if file is not None and not file.exists():
        places = [here / file.name, *(folder / file for folder in (here, *here.parents))]
        found = [place for place in places if place.exists()]
        config = replace(config, data=replace(config.data, name=str(found[0]))) if found else config
    return with_absolute_path(config)
