"""Limits that keep values finite, and the check that an argument is a torch module."""

import torch
from torch import Tensor, nn

from pfgnn.errors import InputTypeError

# The sum of 10^6 squares of 1e16 still fits float32. So every norm of a bounded tensor is finite.
BOUND = 1e16


def bounded(values: Tensor) -> Tensor:
    """Clamp the values to ±BOUND, so that they stay finite. Usual values do not change."""
    limit = largest(values.dtype)
    return values.clamp(-limit, limit)


def largest(dtype: torch.dtype) -> float:
    """The limit to which :func:`bounded` clamps values of a dtype."""
    return min(BOUND, torch.finfo(dtype).max)


def check_module(argument: str, value: object) -> None:
    """Raise an InputTypeError unless the value is a torch module (an object, not a class).

    Args:
        argument: Name of the argument, for the message.
        value: Value that the caller gave.
    """
    if not isinstance(value, nn.Module):
        raise InputTypeError(f"{argument} must be a torch module such as those of pfgnn.model, but it is {value!r}")
