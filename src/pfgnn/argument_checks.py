"""Checks of arguments. Each raises an error whose message names the argument, its value and what is allowed."""

import math
import operator
from collections.abc import Mapping
from numbers import Real
from typing import SupportsFloat, SupportsIndex, TypeVar

from pfgnn.errors import InputError, InputTypeError, shown

Option = TypeVar("Option")


def choose(argument: str, name: str, options: Mapping[str, Option]) -> Option:
    """Return options[name], or raise an InputError.

    Args:
        argument: Name of the argument, for the message.
        name: Value that the caller gave.
        options: The allowed values, and what each one stands for.
    """
    if not isinstance(name, str) or name not in options:
        raise InputError(f"{argument} must be one of {', '.join(options)}, but it is {shown(name)}")
    return options[name]


def check_positive(argument: str, value: SupportsIndex, least: int = 1, most: int | None = None) -> int:
    """Return the value as an int, or raise an InputTypeError or InputError.

    Args:
        argument: Name of the argument, for the message.
        value: Value that the caller gave.
        least: Smallest value that is allowed.
        most: Largest value that is allowed; None for no limit.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputTypeError(f"{argument} must be an int, but it is {shown(value)}")
    number = operator.index(value)
    if number < least:
        raise InputError(f"{argument} must be at least {least}, but it is {shown(number)}")
    if most is not None and number > most:
        raise InputError(f"{argument} must be at most {most}, but it is {shown(number)}")
    return number


def check_number(argument: str, value: SupportsFloat) -> float:
    """Return the value as a float, or raise an InputTypeError or InputError unless it is a finite number.

    Args:
        argument: Name of the argument, for the message.
        value: Value that the caller gave.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputTypeError(f"{argument} must be a number, but it is {shown(value)}")
    if not math.isfinite(value):
        raise InputError(f"{argument} must be finite, but it is {value}")
    return float(value)


def check_flag(argument: str, value: object) -> bool:
    """Return the value, or raise an InputTypeError unless it is True or False.

    Args:
        argument: Name of the argument, for the message.
        value: Value that the caller gave.
    """
    if not isinstance(value, bool):
        raise InputTypeError(f"{argument} must be True or False, but it is {shown(value)}")
    return value
