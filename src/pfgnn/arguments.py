"""Checks of arguments that end in a helpful sentence."""

import operator
from collections.abc import Mapping
from typing import SupportsIndex, TypeVar

from pfgnn.errors import InputError, InputTypeError

Option = TypeVar("Option")


def choose(argument: str, name: str, options: Mapping[str, Option]) -> Option:
    """options[name], or a ValueError that names the argument, what came and what is allowed."""
    if not isinstance(name, str) or name not in options:
        raise InputError(f"{argument} must be one of {', '.join(options)}, but it is {name!r}")
    return options[name]


def check_positive(argument: str, value: SupportsIndex, least: int = 1) -> int:
    """The value as an int of at least ``least``, or a TypeError or ValueError that names the argument."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputTypeError(f"{argument} must be an int, but it is {value!r}")
    number = operator.index(value)
    if number < least:
        raise InputError(f"{argument} must be at least {least}, but it is {number}")
    return number
