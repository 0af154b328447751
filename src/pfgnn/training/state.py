"""Where a run stands, and the checkpoints that hold it."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric
from lightning_fabric.wrappers import _FabricModule, _FabricOptimizer
from torch import Tensor

from pfgnn.errors import InputError
from pfgnn.training import checkpoint as files
from pfgnn.training.checkpoint import Checkpoint
from pfgnn.training.optimise import Schedule
from pfgnn.training.targets import Standardise

SECONDS_BETWEEN_CHECKPOINTS = 10.0  # an epoch may take less than writing what it has learned
WAIT_PER_SECOND_OF_WRITING = 50.0  # so writing takes at most two per cent of the time


@dataclass
class State:
    """Where a run stands, but for its tensors.

    Args:
        epoch: the epoch of the next batch.
        batch: its place in the epoch.
        update: how many updates were taken.
        best: the best validation result so far.
        best_update: when it came.
        waited: validations since then.
        seconds: of training so far.
        finished: whether training is over.
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
    """The checkpoints of a run in its folder: the last one, the one before, and the best weights.

    Args:
        folder: where they lie.
        identity: what a checkpoint must have been made with, as JSON values.
        fabric: the devices; the first process writes.
        state: where the run stands.
        model, optimiser, schedule: what is trained.
        sums: what there is to report since the last validation.
        scaler: of regression targets, or None.
    """

    folder: Path
    identity: dict[str, Any]
    fabric: Fabric
    state: State
    model: _FabricModule
    optimiser: _FabricOptimizer
    schedule: Schedule
    sums: Tensor
    scaler: Standardise | None
    best: Checkpoint | None = None  # until it is written
    due: float = 0.0  # when the next one may be written

    def take(self) -> Checkpoint:
        """All that the run depends on, as it is now."""
        tensors = {
            **files.named("model", self.model.module.state_dict()),
            **files.named("optimiser", files.optimiser_tensors(self.optimiser.optimizer)),
            "sums": self.sums,
        }
        if self.scaler is not None:
            tensors |= {"target.mean": self.scaler.mean, "target.std": self.scaler.std}
        state = {"run": asdict(self.state), "schedule": self.schedule.state(), "identity": self.identity}
        return Checkpoint(tensors, state)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint of this very run."""
        tensors, state = files.read_checkpoint(path)
        files.check_identity(path, state["identity"], self.identity)
        files.load_model(self.model.module, files.owned("model", tensors), path)
        files.load_optimiser(self.optimiser.optimizer, files.owned("optimiser", tensors), path)
        if tensors["sums"].shape != self.sums.shape:
            raise InputError(f"{path} must be of this version of pfgnn, but is of an earlier one; train anew elsewhere")
        self.sums.copy_(tensors["sums"])
        saved = State(**state["run"])
        for field in fields(State):
            setattr(self.state, field.name, getattr(saved, field.name))
        self.schedule.load(state["schedule"])

    def load_best(self) -> str:
        """Put the best weights into the model, or leave the last where nothing was validated; which they are."""
        if self.state.best is None:
            return "last"
        self.fabric.barrier()  # the first device may still be writing them
        tensors, state = files.read_checkpoint(self.folder / files.BEST)
        files.check_identity(self.folder / files.BEST, state["identity"], self.identity)
        files.load_model(self.model.module, files.owned("model", tensors), self.folder / files.BEST)
        # A run that was stopped may have kept better weights than it came to again on another machine.
        self.state.best, self.state.best_update = state["run"]["best"], state["run"]["best_update"]
        return "best"

    def remember_best(self) -> None:
        """Keep a copy of the weights as the best ones, in memory until :meth:`write_best`."""
        now = self.take()
        self.best = now._replace(tensors={name: tensor.clone() for name, tensor in now.tensors.items()})

    def write_best(self) -> None:
        """Write the best weights, if they are new."""
        if self.best is not None:
            best, self.best = self.best, None
            self.write(lambda: files.write_checkpoint(self.folder / files.BEST, best))

    def save(self) -> None:
        """Write the best weights, if they are new, and the last checkpoint."""
        begun = time.perf_counter()
        self.write_best()
        self.write(lambda: files.keep_last(self.folder, self.take()))
        took = time.perf_counter() - begun
        self.due = time.perf_counter() + max(SECONDS_BETWEEN_CHECKPOINTS, WAIT_PER_SECOND_OF_WRITING * took)

    def is_time(self) -> bool:
        """Whether the next checkpoint is due, by the first device's clock."""
        return bool(self.fabric.broadcast(time.perf_counter() > self.due))

    def write(self, write: Callable[[], None]) -> None:
        """Write in one process; what a full disk says is said with what is left."""
        if self.fabric.is_global_zero:
            try:
                write()
            except OSError as error:
                stopped = f"so training stopped at update {self.state.update}; what was written before is kept"
                raise OSError(error.errno, f"{error.strerror}, {stopped}", error.filename) from error

    def remove_left_overs(self) -> None:
        """Remove what a process left that was killed while it wrote."""
        for left_over in self.folder.glob(".*.safetensors"):
            left_over.unlink()
