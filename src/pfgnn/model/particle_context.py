"""Information about the particles that a layer can use, beside their embeddings."""

from typing import NamedTuple

from torch import Tensor

from pfgnn.model.randomness import Noise


class Context(NamedTuple):
    """The particles of a step, as the layers of its refinement see them.

    Fields:
        noise: The random numbers of this pass.
        step: t, or 0 before the first individualisation.
        particles: Numbers of the particles, shape [K].
        vertices: The vertices that this step individualised, shape [G, K, m]. None before the first step.
        log_weights: log w of the particles after the draw, shape [G, K]. None before the first step.
    """

    noise: Noise
    step: int
    particles: Tensor
    vertices: Tensor | None = None
    log_weights: Tensor | None = None
