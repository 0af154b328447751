"""The metrics of a run: a line of JSON each, and on request TensorBoard."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pfgnn.errors import InputError
from pfgnn.files import write_atomically

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Status(NamedTuple):
    """What a progress bar shows; means since the last validation, None where there is none yet."""

    update: int
    updates: int
    epoch: int
    loss: float
    policy_loss: float
    ess: float
    entropy: float
    learning_rate: float
    validation: float | None


class Metrics:
    """metrics.jsonl, a line a validation.

    Args: folder: where it lies.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "metrics.jsonl"
        self.writer: SummaryWriter | None = None  # for TensorBoard, if anybody asks

    def append(self, status: Status, seconds: float) -> None:
        """Add a line."""
        line = {**status._asdict(), "seconds": round(seconds, 3)}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if self.writer is not None:
            for name in ("loss", "policy_loss", "ess", "entropy", "learning_rate", "validation"):
                if line[name] is not None:
                    self.writer.add_scalar(name, line[name], status.update)
            self.writer.flush()

    def cut(self, update: int) -> None:
        """Drop the lines after an update, written by a killed run after its last checkpoint, and a half-written one."""
        lines = self.path.read_text().splitlines(keepends=True) if self.path.exists() else []
        try:
            whole = [line for line in lines if line.endswith("\n") and json.loads(line)["update"] <= update]
        except (ValueError, TypeError, KeyError):
            raise InputError(f"{self.path} must hold lines of metrics, but one of them is damaged; delete it") from None
        write_atomically(self.path, lambda temporary: temporary.write_text("".join(whole)))
