"""Weights of the particles, K per graph: normalise them, and resample by them."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.hashing import fold, uniform

# Smallest log weight. A weight below e^-80 has no effect in float32. Without a floor, an unbounded score could give
# log w = -inf.
FLOOR = -80.0
# Largest K for which the kernel resamples. It compares all pairs of particles, so for larger K it would take minutes to
# compile.
MAX_PARTICLES = 256


class NoiseKey(NamedTuple):
    """The key of the random numbers of one step and purpose.

    Fields:
        key: One key per graph, int64, shape [G].
        step: t.
        purpose: Number of the purpose.
    """

    key: Tensor
    step: int
    purpose: int

    def contiguous(self) -> "NoiseKey":
        """The same key without gaps in memory, as kernels need it."""
        return self._replace(key=self.key.contiguous())

    def keys(self) -> Tensor:
        """One key per graph for this step and purpose, shape [G]."""
        return fold(fold(self.key, self.step), self.purpose)

    def keys_of(self, particles: Tensor, draw: int = 0) -> Tensor:
        """One key per graph and particle, shape [G, K].

        Args:
            particles: Numbers of the particles, shape [K].
            draw: Number of the draw, if there are several of the same step and purpose.
        """
        return fold(fold(self.keys()[:, None], particles), draw)


def normalise(log_weights: Tensor) -> Tensor:
    """log w_k - log Σ_j w_j, but at least FLOOR, from log_weights [G, K] to [G, K]."""
    if fast(log_weights):
        return apply(_Normalise, log_weights)
    return log_weights.log_softmax(1).clamp(min=FLOOR)


def bound(x: Tensor, limit: float) -> Tensor:
    """c tanh(x / c), from x [G, K] to [G, K]. The result lies within ±c, where c is the limit."""
    if fast(x):
        return apply(_Bound, x, limit)
    return limit * (x / limit).tanh()


def resample(log_weights: Tensor, alpha: float, systematic: bool, noise_key: NoiseKey) -> tuple[Tensor, Tensor]:
    """Draw ancestors a_k ~ q = α w + (1 - α)/K, and compute the new log weights log(w_a / (K q_a)).

    The expected sum of the new weights over all copies of particle j is exactly w_j.

    Args:
        log_weights: log w, normalised, shape [G, K].
        alpha: α in [0, 1].
        systematic: Whether to draw at the positions (k + u)/K with one u per graph, instead of independent ones.
        noise_key: Key of the random numbers.

    Returns:
        The ancestors, shape [G, K].
        The new log weights, not normalised, shape [G, K].
    """
    if fast(log_weights) and log_weights.shape[1] <= MAX_PARTICLES:
        return apply(_Resample, log_weights, alpha, systematic, noise_key)
    K = log_weights.shape[1]
    log_q = _proposal(log_weights, alpha)
    cumulative = log_q.detach().double().exp().cumsum(1)
    k = torch.arange(K, device=log_weights.device)
    u = uniform(fold(noise_key.keys()[:, None], k)) if not systematic else (k + uniform(noise_key.keys())[:, None]) / K
    ancestors = torch.searchsorted(cumulative, (u * cumulative[:, -1:]).contiguous(), right=True)
    ancestors = ancestors.clamp(max=K - 1)  # rounding may put a position behind the last particle
    return ancestors, (log_weights - log_q).gather(1, ancestors) - math.log(K)


def _proposal(log_weights: Tensor, alpha: float) -> Tensor:
    """log q = log(α w + (1 - α)/K), from log_weights [G, K] to [G, K]."""
    if alpha == 1:  # q is exactly w, so that w / q is exactly 1 and has no gradient
        return log_weights
    if alpha == 0:
        return torch.full_like(log_weights, -math.log(log_weights.shape[1]))
    uniform = math.log((1 - alpha) / log_weights.shape[1])
    return torch.logaddexp(math.log(alpha) + log_weights, torch.full_like(log_weights, uniform))


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, log_weights: Tensor) -> Tensor:
        from pfgnn.ops.triton.weights import normalise

        out = normalise(log_weights.contiguous())
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        from pfgnn.ops.triton.weights import normalise_backward

        return normalise_backward(gradients[0].contiguous(), *ctx.saved_tensors)


class _Bound(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
        from pfgnn.ops.triton.weights import bound

        out = bound(x.contiguous(), limit)
        ctx.save_for_backward(out)
        ctx.limit = limit
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        from pfgnn.ops.triton.weights import bound_backward

        (out,) = ctx.saved_tensors
        return bound_backward(gradients[0].contiguous(), out, ctx.limit), None


class _Resample(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, log_weights: Tensor, alpha: float, systematic: bool, noise_key: NoiseKey
    ) -> tuple[Tensor, Tensor]:
        from pfgnn.ops.triton.weights import resample

        log_weights = log_weights.contiguous()
        ancestors, kept = resample(log_weights, alpha, systematic, *noise_key.contiguous())
        ctx.save_for_backward(log_weights, ancestors)
        ctx.alpha = alpha
        ctx.mark_non_differentiable(ancestors)
        ctx.set_materialize_grads(False)  # so that no zeros are allocated as the gradient of the ancestors
        return ancestors, kept

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        from pfgnn.ops.triton.weights import resample_backward

        if gradients[1] is None:
            return None, None, None, None
        log_weights, ancestors = ctx.saved_tensors
        return resample_backward(gradients[1].contiguous(), log_weights, ancestors, ctx.alpha), None, None, None
