"""What keeps numbers finite, and the check that an argument is a module."""

import torch
from torch import Tensor, nn

from pfgnn.errors import InputTypeError

# Squares of 1e16 summed over 10^6 nodes still fit float32, so every norm of a bounded tensor is finite.
BOUND = 1e16


def bounded(values: Tensor) -> Tensor:
    """The values clamped to ±1e16: the identity on any sane input, and never infinite on an insane one."""
    limit = largest(values.dtype)
    return values.clamp(-limit, limit)


def largest(dtype: torch.dtype) -> float:
    """The largest value that :func:`bounded` leaves."""
    return min(BOUND, torch.finfo(dtype).max)


def check_module(argument: str, value: object) -> None:
    """A TypeError that names the argument unless the value is a torch module, an object and not its class."""
    if not isinstance(value, nn.Module):
        raise InputTypeError(f"{argument} must be a torch module such as those of pfgnn.model, but it is {value!r}")
