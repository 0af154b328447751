"""What keeps numbers finite, and what turns a name into an object with a helpful error."""

from collections.abc import Mapping
from typing import TypeVar

from torch import Tensor

# Squares of 1e16 summed over 10^6 nodes still fit float32, so every norm of a bounded tensor is finite.
BOUND = 1e16

Option = TypeVar("Option")


def bounded(values: Tensor) -> Tensor:
    """The values clamped to ±1e16: the identity on any sane input, and never infinite on an insane one."""
    return values.clamp(-BOUND, BOUND)


def choose(argument: str, name: str, options: Mapping[str, Option]) -> Option:
    """options[name], or a ValueError that names the argument, what came and what is allowed."""
    if name not in options:
        raise ValueError(f"{argument} must be one of {', '.join(options)}, but it is {name!r}")
    return options[name]


def check_positive(argument: str, value: int, least: int = 1) -> int:
    """The value, or a ValueError/TypeError unless it is an int of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{argument} must be an int, but it is {value!r}")
    if value < least:
        raise ValueError(f"{argument} must be at least {least}, but it is {value}")
    return value
