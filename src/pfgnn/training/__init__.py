"""Training: the objective."""

from pfgnn.training.objective import Loss, Objective, Share, leave_one_out, no_baseline

__all__ = ["Loss", "Objective", "Share", "leave_one_out", "no_baseline"]
