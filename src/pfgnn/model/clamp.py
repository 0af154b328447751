"""Bounds that keep all numbers finite."""

import torch
from torch import Tensor

# The sum of 10^6 squares of 1e16 still fits float32. So every norm of a bounded tensor is finite.
BOUND = 1e16


def bounded(values: Tensor) -> Tensor:
    """Clamp the values to ±BOUND, so that they stay finite. Usual values do not change."""
    limit = largest(values.dtype)
    return values.clamp(-limit, limit)


def largest(dtype: torch.dtype) -> float:
    """The limit to which :func:`bounded` clamps values of a dtype."""
    return min(BOUND, torch.finfo(dtype).max)
