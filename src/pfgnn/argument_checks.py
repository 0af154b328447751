"""Checks of arguments. Each raises an error whose message names the argument, its value and what is allowed."""

import inspect
import math
import operator
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Real
from types import NoneType, UnionType
from typing import Any, ParamSpec, SupportsFloat, SupportsIndex, TypeVar, get_args, get_origin

from pfgnn.errors import InputError, InputTypeError, shown

Option = TypeVar("Option")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


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


def check_positive(argument: str, value: SupportsIndex, least: int = 1, most: int = 10**9) -> int:
    """Return the value as an int, or raise an InputTypeError or InputError.

    Args:
        argument: Name of the argument, for the message.
        value: Value that the caller gave.
        least: Smallest value that is allowed.
        most: Largest value that is allowed.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputTypeError(f"{argument} must be an int, but it is {shown(value)}")
    number = operator.index(value)
    if number < least:
        raise InputError(f"{argument} must be at least {least}, but it is {shown(number)}")
    if number > most:
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


def checked(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: raise an InputTypeError if an argument does not have the type that its annotation says.

    The items of a sequence are not looked at, nor are annotations in quotes.
    """
    signature = inspect.signature(function)
    kinds = {name: _kinds(of.annotation) for name, of in signature.parameters.items()}

    @wraps(function)
    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        for name, given in signature.bind(*arguments, **keywords).arguments.items():
            several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            for value in given if several else (given,):
                if kinds[name] and not any(_has_kind(value, kind) for kind in kinds[name]):
                    wanted = " or ".join("None" if kind is NoneType else kind.__name__ for kind in kinds[name])
                    raise InputTypeError(f"{name} must be of type {wanted}, but it is {_described(value)}")
        return function(*arguments, **keywords)

    return call


def _kinds(annotation: Any) -> tuple[type, ...]:
    """The types that an annotation allows; none if it says nothing."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return (annotation,)
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, UnionType):
        return tuple(kind for part in get_args(annotation) for kind in _kinds(part))
    return (origin,) if isinstance(origin, type) else ()


def _has_kind(value: object, kind: type) -> bool:
    if kind is int:
        return hasattr(value, "__index__") and not isinstance(value, bool)
    return isinstance(value, kind)


def _described(value: object) -> str:
    """A simple value itself, or the type of another one."""
    simple = value is None or isinstance(value, bool | int | float | str)
    return shown(value) if simple else f"a {type(value).__name__}"
