"""What a layer may know of the particles it refines, beside their embeddings."""

from typing import NamedTuple

from torch import Tensor

from pfgnn.model.randomness import Noise


class Context(NamedTuple):
    """The particles of a step, as the layers of its refinement see them.

    Fields:
        noise: the random numbers of this pass.
        step: t, or 0 before the first individualisation.
        particles: the numbers of the particles, [K].
        vertices: the vertices that the step has individualised, [G, K, m]; None before the first step.
        log_weights: log w of the particles after the draw, [G, K]; None before the first step.
    """

    noise: Noise
    step: int
    particles: Tensor
    vertices: Tensor | None = None
    log_weights: Tensor | None = None
