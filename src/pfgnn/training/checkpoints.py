"""The state of a run and its checkpoints."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pfgnn.errors import InputError
from pfgnn.training import checkpoint_file as files
from pfgnn.training.checkpoint_file import Checkpoint
from pfgnn.training.devices import Devices, agreed
from pfgnn.training.optimise import Schedule
from pfgnn.training.targets import Standardise

Compared = Callable[[dict[str, Any]], dict[str, Any]]

SECONDS_BETWEEN_CHECKPOINTS = 10.0  # at least; a short epoch may take less time than writing a checkpoint
WAIT_PER_SECOND_OF_WRITING = 50.0  # so writing takes at most two per cent of the time


@dataclass
class State:
    """The state of a run, without its tensors.

    Args:
        epoch: Epoch of the next batch.
        batch: Number of the next batch in its epoch.
        update: Updates done so far.
        best: Best validation result so far; None before the first validation.
        best_update: The update of the best result.
        waited: Validations since the last improvement.
        seconds: Training time so far.
        finished: Whether training is over.
    """

    epoch: int = 0
    batch: int = 0
    update: int = 0
    best: float | None = None
    best_update: int | None = None
    waited: int = 0
    seconds: float = 0.0
    finished: bool = False


@dataclass
class Checkpoints:
    """The checkpoints of a run: the last one, the one before it, and the best weights.

    Args:
        folder: Folder of the checkpoints.
        identity: JSON values that identify the run. A checkpoint with another identity is refused.
        compared: What is compared of an identity. It turns an identity of an earlier version into that of this version.
        devices: The devices. Only the first process writes.
        state: State of the run.
        model: The model.
        optimiser: The optimiser.
        schedule: Schedule of the learning rate.
        sums: Sums of what is reported, since the last validation, see :class:`pfgnn.training.step.Step`.
        scaler: Scaling of regression targets, or None.
        best: Best weights that are not written yet.
        due: Time from which on the next checkpoint may be written, by ``time.perf_counter``.
    """

    folder: Path
    identity: dict[str, Any]
    compared: Compared
    devices: Devices
    state: State
    model: nn.Module
    optimiser: torch.optim.Optimizer
    schedule: Schedule
    sums: Tensor
    scaler: Standardise | None
    best: Checkpoint | None = None
    due: float = 0.0

    def take(self) -> Checkpoint:
        """A checkpoint of the run as it is now."""
        tensors = {
            **files.named("model", self.model.state_dict()),
            **files.named("optimiser", files.optimiser_tensors(self.optimiser)),
            "sums": self.sums,
        }
        if self.scaler is not None:
            tensors |= {"target.mean": self.scaler.mean, "target.std": self.scaler.std}
        state = {"run": asdict(self.state), "schedule": self.schedule.state(), "identity": self.identity}
        return Checkpoint(tensors, state)

    def resume(self, path: Path) -> None:
        """Continue from a checkpoint of this run."""
        tensors, state = files.read_checkpoint(path)
        self._check_identity(path, state["identity"])
        files.load_model(self.model, files.owned("model", tensors), path)
        files.load_optimiser(self.optimiser, files.owned("optimiser", tensors), path)
        if tensors["sums"].shape != self.sums.shape:
            raise InputError(
                f"{path} must be of this version of pfgnn, but is of an earlier one; start a new run in a new directory"
            )
        self.sums.copy_(tensors["sums"])
        for field in fields(State):  # one that an earlier version did not have keeps its default
            setattr(self.state, field.name, state["run"].get(field.name, field.default))
        self.schedule.load(state["schedule"])

    def load_best(self) -> str:
        """Load the best weights and return "best"; without validation, keep the last ones and return "last"."""
        if self.state.best is None:
            return "last"
        self.devices.barrier()  # the first process may still be writing the file
        tensors, state = files.read_checkpoint(self.folder / files.BEST)
        self._check_identity(self.folder / files.BEST, state["identity"])
        files.load_model(self.model, files.owned("model", tensors), self.folder / files.BEST)
        # A run that was killed may have written better weights than it reached again after it was resumed.
        self.state.best, self.state.best_update = state["run"]["best"], state["run"]["best_update"]
        return "best"

    def _check_identity(self, path: Path, found: dict[str, Any]) -> None:
        try:
            before = self.compared(found)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{path} must be of this version of pfgnn, but {error}; train in a new directory"
            ) from None
        files.check_identity(path, before, self.compared(self.identity))

    def remember_best(self) -> None:
        """Copy the current weights as the best ones. They stay in memory until :meth:`write_best`."""
        now = self.take()
        self.best = now._replace(tensors={name: tensor.clone() for name, tensor in now.tensors.items()})

    def write_best(self) -> None:
        """Write the best weights, if there are new ones."""
        if self.best is not None:
            best, self.best = self.best, None
            self.write(lambda: files.write_checkpoint(self.folder / files.BEST, best))

    def save(self) -> None:
        """Write the last checkpoint, and the best weights if there are new ones."""
        begun = time.perf_counter()
        self.write_best()
        self.write(lambda: files.keep_last(self.folder, self.take()))
        took = time.perf_counter() - begun
        self.due = time.perf_counter() + max(SECONDS_BETWEEN_CHECKPOINTS, WAIT_PER_SECOND_OF_WRITING * took)

    def is_time(self) -> bool:
        """Whether the next checkpoint is due, by the clock of the first process."""
        return agreed(self.devices, time.perf_counter() > self.due)

    def write(self, write: Callable[[], None]) -> None:
        """Call ``write`` in the first process only. An OSError is raised again with the update added to its text."""
        if self.devices.first:
            try:
                write()
            except OSError as error:
                stopped = f"so training stopped at update {self.state.update}; what was written before is kept"
                raise OSError(error.errno, f"{error.strerror}, {stopped}", error.filename) from error

    def remove_left_overs(self) -> None:
        """Remove the temporary files of a process that was killed while it wrote."""
        for left_over in self.folder.glob(".*.safetensors"):
            left_over.unlink()
