"""Estimators in files: their parameters and what they know beside the model, as JSON."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.estimators.parameters import plain
from pfgnn.experiments.run_directory import RECORD, read_record
from pfgnn.files import check_version, read_json, reading, write_json

ESTIMATOR = "estimator.json"
FORMAT = 1


def write_model(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a model into a folder, which may exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def write_estimator(folder: Path, estimator: Any, overwrite: bool) -> None:
    """Write a folder, completely or not at all.

    Args:
        folder: The folder.
        estimator: The fitted estimator.
        overwrite: Whether to replace the folder if an estimator wrote it before.
    """
    if folder.exists() and not overwrite:
        raise InputError(f"{folder} must be a new folder, but it exists; overwrite=True replaces a saved model")
    if folder.exists() and not (folder / ESTIMATOR).exists():
        raise InputError(f"{folder} must be a saved model to be overwritten, but it has no {ESTIMATOR}")
    content = _content(estimator)
    folder = folder.absolute()  # the folder "." has no name
    new = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        write_model(new, estimator.model_files_)
        write_json(new / ESTIMATOR, content)
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _content(estimator: Any) -> dict[str, Any]:
    """What estimator.json holds: the parameters, and what the estimator knows beside the model."""
    given = estimator.get_params(deep=False) | {"callback": None}  # code is not saved
    if isinstance(given["backbone"], nn.Module):
        given["backbone"] = None
    parameters = {name: _storable(name, plain(value)) for name, value in given.items()}
    content = {"format": FORMAT, "class": type(estimator).__name__, "parameters": parameters}
    if hasattr(estimator, "classes_"):
        content["classes"] = _classes(estimator.classes_)
    content["one_column"] = estimator.one_column_
    content["own_backbone"] = None if estimator.backbone_ is None else how_to_load(estimator.backbone_)
    content["used"] = {name: keys.tolist() for name, keys in estimator.used_.items()}
    return content


def how_to_load(backbone: nn.Module) -> str:
    """What a user must do to load a model with a backbone of their own."""
    return f"load(folder, backbone=MODULE) needs a {type(backbone).__name__} again, made as before"


def read_estimator(folder: Path, name: str, backbone: nn.Module | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of an estimator, and its fitted attributes except for the files of its model.

    Args:
        folder: What ``save`` wrote.
        name: Name of the class that the estimator must have.
        backbone: The user's own module; None if there was none.
    """
    path = folder / ESTIMATOR
    if not path.exists():
        run = "; it holds a run, which pfgnn.load_run opens" if (folder / RECORD).exists() else ""
        raise InputError(f"{folder} must be a folder that `save` of an estimator wrote, but it has no {ESTIMATOR}{run}")
    content = read_json(path)
    check_version(path, content.get("format"), FORMAT)
    with reading(path, "be an estimator, as `save` writes it"):
        if content["class"] != name:
            raise InputError(f"{path} must hold a {name}, but it holds a {shown(content['class'])}")
        if content["own_backbone"] is not None and backbone is None:
            raise InputError(
                f"{path} must be loaded with its own backbone, but none is given: {content['own_backbone']}"
            )
        if content["own_backbone"] is None and backbone is not None:
            raise InputError(f"backbone must be None, because {path} has a backbone of pfgnn, but a module is given")
        if backbone is not None:
            content["parameters"]["backbone"] = backbone
        record = read_record(folder)
        fitted = {"record_": record, "n_iter_": int(record["epochs"]), "one_column_": bool(content["one_column"])}
        fitted["backbone_"] = backbone
        fitted["used_"] = {part: np.array(keys, dtype=np.uint64) for part, keys in content["used"].items()}
        if "classes" in content:
            fitted["classes_"] = np.array(content["classes"]["values"], dtype=content["classes"]["dtype"])
        return content["parameters"], fitted


def _storable(name: str, value: Any) -> Any:
    """A parameter as JSON stores it."""
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, dict):
        return {key: _storable(f"{name}[{shown(key)}]", of) for key, of in value.items()}
    if isinstance(value, list):
        return [_storable(name, of) for of in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputTypeError(f"{name} must be a number, text or None to be saved, but it is a {type(value).__name__}")


def _classes(classes: Any) -> dict[str, Any]:
    values = classes.tolist()
    if not all(isinstance(value, bool | int | float | str) for value in values):
        raise InputTypeError("the classes must be numbers or texts to be saved, but they are not; use joblib")
    return {"dtype": "object" if classes.dtype.kind == "O" else classes.dtype.str, "values": values}
