"""Resampling: drop particles of small weight and copy particles of large weight (line 12)."""

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_number
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.belief import Belief, effective_sample_size
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.ops.weights import normalise, resample
from pfgnn.registry import Registry

RESAMPLERS: Registry[nn.Module] = Registry("resampling")


@RESAMPLERS.register("soft")
class SoftResampling(nn.Module):
    """Ancestors a_k ~ q = α w + (1 - α)/K, and new weights w_a / q_a, normalised (Karkus et al., CoRL 2018).

    The new weights carry the gradient. With α = 1 they are uniform and have no gradient.

    Args:
        alpha: α in [0, 1].
    """

    systematic = False

    def __init__(self, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha = check_number("alpha", alpha)
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha must lie in [0, 1], but it is {alpha}")

    def forward(self, belief: Belief, noise: Noise, step: int) -> tuple[Belief, Tensor]:
        """Resample the particles of every graph; see the class.

        Args:
            belief: Belief of K particles.
            noise: The random numbers of the pass.
            step: t.

        Returns:
            The new belief of K particles.
            The ancestors, shape [G, K].
        """
        ancestors, log_weights = self.draw(belief.log_weights, noise, step)
        return belief.select(ancestors, normalise(log_weights), noise.nodes), ancestors

    def draw(self, log_weights: Tensor, noise: Noise, step: int) -> tuple[Tensor, Tensor]:
        """Draw the ancestors, shape [G, K], and compute the new log weights, not normalised, shape [G, K].

        The new weights w' satisfy E[Σ_{k: a_k = j} w'_k] = w_j exactly.
        """
        return resample(log_weights, self.alpha, self.systematic, noise.key(step, Purpose.RESAMPLE))


@RESAMPLERS.register("systematic")
class SystematicResampling(SoftResampling):
    """:class:`SoftResampling` with evenly spaced positions (k + u)/K, with one u per graph. This has less variance."""

    systematic = True


@RESAMPLERS.register("ess")
class ESSResampling(nn.Module):
    """Resample only the graphs whose effective sample size is below threshold · K.

    Args:
        inner: The resampling to use for these graphs.
        threshold: A number in [0, 1].
    """

    def __init__(self, inner: SoftResampling, threshold: float = 0.5) -> None:
        super().__init__()
        if not isinstance(inner, SoftResampling):
            raise InputTypeError(f"inner must be a SoftResampling or SystematicResampling, but it is {inner!r}")
        self.inner = inner
        self.threshold = check_number("threshold", threshold)
        if not 0 <= self.threshold <= 1:
            raise InputError(f"threshold must lie in [0, 1], but it is {threshold}")

    def forward(self, belief: Belief, noise: Noise, step: int) -> tuple[Belief, Tensor]:
        """Resample the graphs that need it; see the class, and :class:`SoftResampling` for the arguments."""
        K = belief.log_weights.shape[1]
        ancestors, log_weights = self.inner.draw(belief.log_weights, noise, step)
        # The factor 1 - 1e-6 allows for rounding: uniform weights have an ESS of K, which may be computed as slightly
        # less.
        low = (effective_sample_size(belief.log_weights) < (1 - 1e-6) * self.threshold * K)[:, None]  # [G, 1]
        ancestors = torch.where(low, ancestors, torch.arange(K, device=low.device))
        log_weights = torch.where(low, normalise(log_weights), belief.log_weights)
        return belief.select(ancestors, log_weights, noise.nodes), ancestors


@RESAMPLERS.register("none")
class NoResampling(nn.Module):
    """No resampling: every particle keeps its weight."""

    def forward(self, belief: Belief, noise: Noise, step: int) -> tuple[Belief, Tensor]:
        """Return the belief unchanged, and each particle as its own ancestor."""
        G, K = belief.log_weights.shape
        return belief, torch.arange(K, device=noise.graph.device).expand(G, K)
