"""Training: the objective, the loop, checkpoints, evaluation and metrics."""

from typing import TYPE_CHECKING

from pfgnn.lazy import lazy

__all__ = ["Loss", "Objective", "Share", "leave_one_out", "no_baseline"]

if TYPE_CHECKING:
    from pfgnn.training.objective import Loss, Objective, Share, leave_one_out, no_baseline
else:  # `pfgnn.training.config` must be importable without torch, so that a config is read fast
    __getattr__ = lazy(__name__, dict.fromkeys(__all__, "pfgnn.training.objective"))
