"""Training: the objective."""

from typing import TYPE_CHECKING

from pfgnn.lazy import lazy

__all__ = ["Loss", "Objective", "Share", "leave_one_out", "no_baseline"]

if TYPE_CHECKING:
    from pfgnn.training.objective import Loss, Objective, Share, leave_one_out, no_baseline
else:  # reading a config, which needs `pfgnn.training.config`, must not import torch
    __getattr__ = lazy(__name__, dict.fromkeys(__all__, "pfgnn.training.objective"))
