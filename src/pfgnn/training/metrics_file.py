"""The metrics of a run, written as lines of JSON, and to TensorBoard on request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pfgnn.files import read_text, reading, write_text

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


METRICS = "metrics.jsonl"  # file in a run directory


class Status(NamedTuple):
    """How far a training is. Losses, sample size and entropy are means since the last validation.

    Fields:
        update: Updates done so far.
        updates: Updates in all.
        epoch: Epochs done so far.
        loss: Task loss.
        policy_loss: Loss of the policy.
        ess: Effective sample size of the particles.
        entropy: Entropy of the policy.
        learning_rate: Learning rate of the last update.
        validation: Validation metric; None between validations or without a validation part.
        seconds: Seconds of training so far; None between validations.
    """

    update: int
    updates: int
    epoch: int
    loss: float
    policy_loss: float
    ess: float
    entropy: float
    learning_rate: float
    validation: float | None
    seconds: float | None = None


Report: TypeAlias = Callable[[Status], bool | None]
"""Is called during a training. If it returns True after a validation, the training ends there."""


class MetricsFile:
    """The file metrics.jsonl, with one line for each validation.

    Args:
        folder: The run directory.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / METRICS
        self.writer: SummaryWriter | None = None  # set by the caller to write for TensorBoard too

    def append(self, status: Status) -> None:
        """Add a line, after a validation."""
        line = status._asdict() | {"seconds": round(status.seconds or 0.0, 3)}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if self.writer is not None:
            for name in ("loss", "policy_loss", "ess", "entropy", "learning_rate", "validation"):
                if line[name] is not None:
                    self.writer.add_scalar(name, line[name], status.update)
            self.writer.flush()

    def cut(self, update: int) -> None:
        """Remove the lines after ``update``, and a half-written last line.

        A run that was killed may have written them after its last checkpoint.
        """
        lines = read_text(self.path).splitlines(keepends=True) if self.path.exists() else []
        with reading(self.path, "hold lines of metrics (delete it if you do not need it)"):
            whole = [line for line in lines if line.endswith("\n") and json.loads(line)["update"] <= update]
        write_text(self.path, "".join(whole))
