"""Go on with a run that was stopped, perhaps one of an earlier version."""

import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfgnn.errors import InputError
from pfgnn.experiments.build import Inputs
from pfgnn.experiments.config_file import config_mapping, parse_config
from pfgnn.experiments.run_directory import CONFIG, Resume, resume_command
from pfgnn.training.checkpoint_file import BEST, LAST, PREVIOUS, DamagedCheckpointError, read_checkpoint
from pfgnn.training.loop import Trainer


def resume_training(trainer: Trainer, directory: Path, resume: Resume) -> None:
    """Continue from a checkpoint of a run directory, if this is asked for and there is one.

    Args:
        trainer: The trainer of the run.
        directory: Run directory.
        resume: See :func:`pfgnn.experiments.run.run`.
    """
    last, previous = directory / LAST, directory / PREVIOUS
    begun = last.exists() or previous.exists()
    if resume == "no" or (resume == "last" and not begun):
        return
    chosen = last if resume == "last" else previous
    try:
        _check_whole(chosen)
        trainer.resume(chosen)
    except DamagedCheckpointError as error:
        raise InputError(f"{error}; {_way_on(directory, resume)}") from None


def _way_on(directory: Path, resume: Resume) -> str:
    """What to do if a checkpoint is damaged: go on from the other one if it is whole, otherwise start anew."""
    other, option = (PREVIOUS, "--resume-previous") if resume == "last" else (LAST, "--resume")
    with suppress(DamagedCheckpointError):
        _check_whole(directory / other)
        place = "before" if resume == "last" else "after"
        return f"go on from the checkpoint {place} it with: {resume_command(directory, option)}"
    if not (directory / CONFIG).exists():
        return "start a new run without --resume-previous"
    left = [str(path) for path in (directory / LAST, directory / PREVIOUS) if path.exists()]
    remove = f"{shlex.join(['rm', *left])} && " if left else ""
    return f"no other one is there, so start the run anew with: {remove}{resume_command(directory, '--resume')}"


def _check_whole(path: Path) -> None:
    """Raise a DamagedCheckpointError unless a checkpoint is whole, and so are the best weights that belong to it."""
    if read_checkpoint(path).state["run"]["best"] is not None:
        read_checkpoint(path.with_name(BEST))


def compared(identity: dict[str, Any]) -> dict[str, Any]:
    """What is compared of a run's identity. A setting that an earlier version did not have gets its default.

    The name of a packed file is left out. The checksum tells whether the data are the same, wherever the file is now.
    Categories before encodings follow from the data too, and earlier versions did not record them.
    """
    config = parse_config(identity["config"])
    mapping = config_mapping(config)
    if config.data.file is not None:
        del mapping["data"]["name"]
    inputs = replace(Inputs.from_json(identity["inputs"]), node_categories=None, edge_categories=None)
    return {**identity, "config": mapping, "inputs": inputs.to_json()}
