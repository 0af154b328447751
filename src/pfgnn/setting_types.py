"""Types of settings that limit the values, such as ``width: Positive = 64``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True)
class Limit:
    """A condition on a value.

    Args:
        text: The condition in words, to complete the sentence "The setting must be ...".
        holds: Returns whether a value fulfils the condition.
    """

    text: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class PartName:
    """The value must be the name of a registered part of a model; see :mod:`pfgnn.model.registries`.

    Args:
        setting: The setting that names the part, such as "policy".
    """

    setting: str


Positive = Annotated[int, Limit("at least 1", lambda value: value >= 1)]
AtLeastTwo = Annotated[int, Limit("at least 2", lambda value: value >= 2)]
NonNegative = Annotated[int, Limit("at least 0", lambda value: value >= 0)]
WalkLength = Annotated[int, Limit("0 or at least 3", lambda value: value == 0 or value >= 3)]
Seed = Annotated[int, Limit("in 0..2**63 - 1", lambda value: 0 <= value < 2**63)]
PositiveNumber = Annotated[float, Limit("above 0", lambda value: value > 0)]
NonNegativeNumber = Annotated[float, Limit("at least 0", lambda value: value >= 0)]
Share = Annotated[float, Limit("above 0 and at most 1", lambda value: 0 < value <= 1)]
ZeroToOne = Annotated[float, Limit("between 0 and 1", lambda value: 0 <= value <= 1)]
BelowOne = Annotated[float, Limit("at least 0 and below 1", lambda value: 0 <= value < 1)]
InsideZeroOne = Annotated[float, Limit("above 0 and below 1", lambda value: 0 < value < 1)]
