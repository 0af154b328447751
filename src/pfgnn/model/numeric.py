"""What keeps numbers finite, and checks of arguments that end in a helpful sentence."""

import operator
from collections.abc import Mapping
from typing import SupportsIndex, TypeVar

import torch
from torch import Tensor, nn

# Squares of 1e16 summed over 10^6 nodes still fit float32, so every norm of a bounded tensor is finite.
BOUND = 1e16

Option = TypeVar("Option")


def bounded(values: Tensor) -> Tensor:
    """The values clamped to ±1e16: the identity on any sane input, and never infinite on an insane one."""
    limit = largest(values.dtype)
    return values.clamp(-limit, limit)


def largest(dtype: torch.dtype) -> float:
    """The largest value that :func:`bounded` leaves."""
    return min(BOUND, torch.finfo(dtype).max)


def choose(argument: str, name: str, options: Mapping[str, Option]) -> Option:
    """options[name], or a ValueError that names the argument, what came and what is allowed."""
    if not isinstance(name, str) or name not in options:
        raise ValueError(f"{argument} must be one of {', '.join(options)}, but it is {name!r}")
    return options[name]


def check_positive(argument: str, value: SupportsIndex, least: int = 1) -> int:
    """The value as an int of at least ``least``, or a TypeError or ValueError that names the argument."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{argument} must be an int, but it is {value!r}")
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{argument} must be at least {least}, but it is {number}")
    return number


def check_module(argument: str, value: object) -> None:
    """A TypeError that names the argument unless the value is a torch module, an object and not its class."""
    if not isinstance(value, nn.Module):
        raise TypeError(f"{argument} must be a torch module such as those of pfgnn.model, but it is {value!r}")
