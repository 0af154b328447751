"""Types of settings that limit the values, such as ``width: Positive = 64``."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pfgnn.argument_checks import check_positive
from pfgnn.errors import InputError


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
        others: Values that are allowed besides.
    """

    setting: str
    others: re.Pattern[str] | None = None


# The largest values that are allowed. They are far above what is useful. A larger one, such as a typing error, would
# only be noticed when the memory is full, or never.
MOST = 10**9
MOST_NUMBER = 1e30  # float32 ends at 3e38
MOST_PARTICLES = 10_000
MOST_PATHS = 100_000  # particles of a model in Python, where the graph may be tiny
MOST_DRAWS = 10_000
MOST_LAYERS = 100
MOST_WIDTH = 10_000
MOST_CHANNELS = 1_000_000  # columns of features and of outputs
MOST_STEPS = 1000  # of an encoding's walks; also the largest distance that a mark tells


def at_least(least: float) -> Limit:
    """The limit of a number that must not be smaller than ``least``."""
    return Limit(f"at least {least}", lambda value: value >= least)


def at_most(most: float) -> Limit:
    """The limit of a number that must not be larger than ``most``."""
    return Limit(f"at most {most}", lambda value: value <= most)


def check_draws(draws: int, particles: int | None, least: int = 2) -> None:
    """Raise an InputError unless a prediction can be made of this many draws and particles.

    Args:
        draws: Number of draws.
        particles: K; None for the usual K.
        least: Smallest number of draws that is allowed.
    """
    check_positive("draws", draws, most=MOST_DRAWS)
    if draws < least:
        raise InputError("draws must be at least 2 for a standard error, but it is 1")
    if particles is not None:
        check_positive("particles", particles, most=MOST_PARTICLES)


Positive = Annotated[int, at_least(1), at_most(MOST)]
NonNegative = Annotated[int, at_least(0), at_most(MOST)]
Particles = Annotated[int, at_least(1), at_most(MOST_PARTICLES)]
Draws = Annotated[int, at_least(1), at_most(MOST_DRAWS)]
SeveralDraws = Annotated[int, at_least(2), at_most(MOST_DRAWS)]
Layers = Annotated[int, at_least(1), at_most(MOST_LAYERS)]
Steps = Annotated[int, at_least(0), at_most(MOST_LAYERS)]
Width = Annotated[int, at_least(1), at_most(MOST_WIDTH)]
Trees = Annotated[int, at_least(1), at_most(10_000)]
Radius = Annotated[int, at_least(0), at_most(10)]
Bits = Annotated[int, at_least(1), at_most(MOST_CHANNELS)]
Copies = Annotated[int, at_least(1), at_most(10_000)]
Controls = Annotated[int, at_least(1), at_most(10**6)]
Distance = Annotated[int, at_least(1), at_most(MOST_STEPS)]
WalkLength = Annotated[int, at_least(0), at_most(MOST_STEPS)]
RingWalkLength = Annotated[int, Limit("0 or at least 3", lambda value: value == 0 or value >= 3), at_most(MOST_STEPS)]
Seed = Annotated[int, Limit("in 0..2**63 - 1", lambda value: 0 <= value < 2**63)]
PositiveNumber = Annotated[float, Limit("above 0", lambda value: value > 0), at_most(MOST_NUMBER)]
NonNegativeNumber = Annotated[float, at_least(0), at_most(MOST_NUMBER)]
Share = Annotated[float, Limit("above 0 and at most 1", lambda value: 0 < value <= 1)]
ZeroToOne = Annotated[float, Limit("between 0 and 1", lambda value: 0 <= value <= 1)]
BelowOne = Annotated[float, Limit("at least 0 and below 1", lambda value: 0 <= value < 1)]
InsideZeroOne = Annotated[float, Limit("above 0 and below 1", lambda value: 0 < value < 1)]
