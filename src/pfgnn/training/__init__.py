"""Training: the objective."""

from pfgnn.training.objective import Loss, Objective, leave_one_out, no_baseline

__all__ = ["Loss", "Objective", "leave_one_out", "no_baseline"]
