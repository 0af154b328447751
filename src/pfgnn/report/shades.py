"""Colours of importances: orange for what raises a prediction, blue for what lowers it, none for the weak ones."""

import math
from typing import NamedTuple

from pfgnn.experiments.explain import Explanation

RAISES, LOWERS = (217, 95, 2), (31, 120, 180)  # orange and blue, which colour-blind people can tell apart
WEAK = 0.05  # an importance below this share of the largest one is not coloured
PALEST = 0.1  # strength of the weakest colour
ERRORS = 2.0  # an importance within so many standard errors of 0 is not coloured

Colour = tuple[float, float, float]  # red, green and blue, from 0 to 1


class Shades(NamedTuple):
    """The colour of each part of a graph for one output.

    Fields:
        vertices: Colour of each vertex; None for one that is not coloured.
        edges: Colour of each edge.
        largest: The importance, without its sign, that has the full colour.
    """

    vertices: list[Colour | None]
    edges: list[Colour | None]
    largest: float


def choose_shades(found: Explanation, output: int) -> Shades:
    """Colour the parts of a graph by their importance. Vertices and edges have the same scale.

    Args:
        found: The explanation.
        output: Number of the output.
    """
    of = [
        list(zip(mean[:, output].tolist(), error[:, output].tolist(), strict=True))
        for mean, error in (found.vertices, found.edges)
    ]
    largest = max((abs(mean) for pairs in of for mean, _ in pairs if math.isfinite(mean)), default=0.0)
    vertices, edges = ([_shade(mean, error, largest) for mean, error in pairs] for pairs in of)
    return Shades(vertices, edges, largest)


def rgb(colour: Colour) -> str:
    """A colour as HTML and SVG write it."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def mix(strength: float) -> Colour:
    """The colour of an importance, from -1 (lowers the prediction most) over 0 (white) to 1 (raises it most)."""
    red, green, blue = (1 - abs(strength) * (1 - part / 255) for part in (RAISES if strength > 0 else LOWERS))
    return red, green, blue


def _shade(mean: float, error: float, largest: float) -> Colour | None:
    if not math.isfinite(mean) or abs(mean) <= max(ERRORS * error, WEAK * largest):
        return None
    strength = PALEST + (1 - PALEST) * abs(mean) / largest
    return mix(math.copysign(strength, mean))
