"""Resampling: drop colourings of little weight, copy those of much (line 12)."""

import torch
from torch import Tensor, nn

from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.belief import Belief, effective_sample_size
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.ops.weigh import normalise, resample
from pfgnn.registry import Registry

RESAMPLERS: Registry[nn.Module] = Registry("resampling")


@RESAMPLERS.register("soft")
class SoftResampling(nn.Module):
    """Ancestors a_k ~ q = α w + (1 - α)/K, new weights w_a / q_a, normalised (Karkus et al., CoRL 2018).

    The weights carry the gradient; with α = 1 they are uniform and carry none.

    Args: alpha: α in [0, 1].
    Shapes: belief of K particles -> belief of K particles, ancestors [G, K].
    """

    systematic = False

    def __init__(self, alpha: float = 0.5) -> None:
        super().__init__()
        if not 0 <= alpha <= 1:
            raise InputError(f"alpha must lie in [0, 1], but it is {alpha}")
        self.alpha = alpha

    def forward(self, belief: Belief, noise: Noise, step: int) -> tuple[Belief, Tensor]:
        """Resample every graph's particles; see the class."""
        ancestors, log_weights = self.draw(belief.log_weights, noise, step)
        return belief.select(ancestors, normalise(log_weights), noise.nodes), ancestors

    def draw(self, log_weights: Tensor, noise: Noise, step: int) -> tuple[Tensor, Tensor]:
        """Ancestors and unnormalised new log-weights, E[Σ_{k: a_k = j} w'_k] = w_j exactly: both [G, K]."""
        return resample(log_weights, self.alpha, self.systematic, noise.key(step, Purpose.RESAMPLE))


@RESAMPLERS.register("systematic")
class SystematicResampling(SoftResampling):
    """The same with evenly spaced positions (k + u)/K, one u a graph: less variance."""

    systematic = True


@RESAMPLERS.register("ess")
class ESSResampling(nn.Module):
    """Resample only the graphs whose effective sample size is below threshold · K.

    Args: inner: how to resample then.  threshold: in [0, 1].
    """

    def __init__(self, inner: SoftResampling, threshold: float = 0.5) -> None:
        super().__init__()
        if not isinstance(inner, SoftResampling):
            raise InputTypeError(f"inner must be a SoftResampling or SystematicResampling, but it is {inner!r}")
        if not 0 <= threshold <= 1:
            raise InputError(f"threshold must lie in [0, 1], but it is {threshold}")
        self.inner = inner
        self.threshold = threshold

    def forward(self, belief: Belief, noise: Noise, step: int) -> tuple[Belief, Tensor]:
        """Resample where it is needed; see the class."""
        K = belief.log_weights.shape[1]
        ancestors, log_weights = self.inner.draw(belief.log_weights, noise, step)
        # A hair below the threshold, for uniform weights have an ESS of K only up to rounding.
        low = (effective_sample_size(belief.log_weights) < (1 - 1e-6) * self.threshold * K)[:, None]  # [G, 1]
        ancestors = torch.where(low, ancestors, torch.arange(K, device=low.device))
        log_weights = torch.where(low, normalise(log_weights), belief.log_weights)
        return belief.select(ancestors, log_weights, noise.nodes), ancestors


@RESAMPLERS.register("none")
class NoResampling(nn.Module):
    """Every particle goes on with its weight."""

    def forward(self, belief: Belief, noise: Noise, step: int) -> tuple[Belief, Tensor]:
        """The belief as it is, each particle its own ancestor."""
        G, K = belief.log_weights.shape
        return belief, torch.arange(K, device=noise.graph.device).expand(G, K)
