"""Go on with a run that was stopped, perhaps one of an earlier version."""

from pathlib import Path
from typing import Any

from pfgnn.errors import InputError
from pfgnn.experiments.build import Inputs
from pfgnn.experiments.config_file import config_mapping, parse_config
from pfgnn.experiments.run_directory import Resume, resume_command
from pfgnn.training.checkpoint_file import LAST, PREVIOUS, DamagedCheckpointError
from pfgnn.training.loop import Trainer


def resume_training(trainer: Trainer, directory: Path, resume: Resume) -> None:
    """Continue from a checkpoint of a run directory, if this is asked for and there is one.

    Args:
        trainer: The trainer of the run.
        directory: Run directory.
        resume: See :func:`pfgnn.experiments.run.run`.
    """
    last, previous = directory / LAST, directory / PREVIOUS
    if resume == "previous":
        trainer.resume(previous)
    elif resume == "last" and (last.exists() or previous.exists()):
        try:
            trainer.resume(last)
        except DamagedCheckpointError as error:
            if not previous.exists():
                raise
            before = f"go on from the checkpoint before it with: {resume_command(directory, '--resume-previous')}"
            raise InputError(f"{error}; {before}") from None


def compared(identity: dict[str, Any]) -> dict[str, Any]:
    """What is compared of a run's identity. A setting that an earlier version did not have gets its default.

    The name of a packed file is left out. The checksum tells whether the data are the same, wherever the file is now.
    """
    config = parse_config(identity["config"])
    mapping = config_mapping(config)
    if config.data.file is not None:
        del mapping["data"]["name"]
    return {**identity, "config": mapping, "inputs": Inputs.from_json(identity["inputs"]).to_json()}
