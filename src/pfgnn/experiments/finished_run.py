"""Test a finished run again, and load its weights."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from pfgnn.errors import InputError
from pfgnn.experiments.build import Inputs, build_model
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import config_mapping, parse_config, read_config
from pfgnn.experiments.fit_command import fit_command
from pfgnn.experiments.open_run import Run
from pfgnn.experiments.run_directory import CONFIG, read_record, read_run_config
from pfgnn.files import reading
from pfgnn.training import checkpoint_file as files
from pfgnn.training.targets import Standardise


def evaluate_run(directory: Path, *, device: str = "auto", overrides: tuple[str, ...] = ()) -> dict[str, Any]:
    """Test the weights of a finished run again.

    Args:
        directory: Run directory.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        overrides: Changes of the config, such as "evaluation.particles=64". Without any, the results are those of the
            record.

    Returns:
        {"results": ..., "pairs": ...}, see :meth:`Run.evaluate`.
    """
    record = read_record(directory)
    config = read_run_config(directory, overrides)
    named = any(override.startswith("data.name=") for override in overrides)

    def check(found: str) -> None:
        if found != record["data"]:
            known = f"with checksum {record['data']}, but its checksum is {found}"
            raise InputError(f"{config.data.name} must be the data of the run, {known}; {_other_data(config, named)}")

    this = Run.open(config, device, check)
    trained = load_weights(directory, record)
    return this.evaluate(trained.model.to(this.devices.device), trained.scaler)


class Trained(NamedTuple):
    """The model of a finished run.

    Fields:
        model: The model, in evaluation mode.
        scaler: Maps predictions back to the units of the targets; None if the targets were not standardised.
        inputs: What the model needs to know about its data.
    """

    model: nn.Module
    scaler: Standardise | None
    inputs: Inputs


def load_weights(directory: Path, record: Mapping[str, Any], backbone: nn.Module | None = None) -> Trained:
    """Load the model of a finished run. The data is not needed.

    Args:
        directory: Run directory.
        record: Its record. The weights must be of the same data and settings.
        backbone: The backbone, if the run was made with one that was given as an object.
    """
    if read_run_config(directory).model.kind == "forest":
        raise InputError(f"{directory} must be a trained network, but it is a random forest, which keeps no weights")
    path = directory / (files.BEST if record["selected"] == "best" else files.LAST)
    try:
        tensors, state = files.read_checkpoint(path)
    except files.DamagedCheckpointError as error:
        out = Path(f"{directory}-again")
        train = shlex.join(["pfgnn", "train", str(directory / CONFIG), "--out", str(out)])
        again = fit_command(directory, out) or train
        raise InputError(f"{error}; train the model again with: {again}") from None
    config = read_config(directory / CONFIG)
    with reading(path, "be the checkpoint of a run"):
        there = {"data": state["identity"]["data"], "config": _without_path(state["identity"]["config"])}
        files.check_identity(path, there, {"data": record["data"], "config": _without_path(record["config"])})
        inputs = Inputs.from_json(state["identity"]["inputs"])
        model = build_model(config.model, inputs, config.seed, backbone)
        files.load_model(model, files.owned("model", tensors), path)
        target = files.owned("target", tensors)
        return Trained(model.eval(), Standardise(target["mean"], target["std"]) if target else None, inputs)


def _without_path(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a stored config, without the name of its data. Their file may have been moved."""
    settings = config_mapping(parse_config(config))
    del settings["data"]["name"]
    return settings


def _other_data(config: Config, named: bool) -> str:
    """What to do if the dataset is not that of the run. ``named`` says whether the user named this dataset."""
    if named:
        return "name the data of the training, or predict other graphs with `pfgnn predict`"
    if config.data.file is not None:
        return "the file was changed after the training; if the old one is elsewhere, --set data.name=FILE names it"
    return "PFGNN_DATA may name another folder than in the training, or another version of pfgnn made it"
