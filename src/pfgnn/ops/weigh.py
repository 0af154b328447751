"""Weights of particles, K numbers a graph: normalising them, and resampling by them."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.hashing import fold, uniform

# A weight below e^-80 changes nothing in float32; without a floor, an unbounded score could make log w = -inf.
FLOOR = -80.0
MOST = 256  # particles that the kernel resamples: it compares each with each, and more would take minutes to compile


class NoiseKey(NamedTuple):
    """Where random numbers come from: a ``key`` per graph, int64 [G], the ``step`` and the ``purpose``."""

    key: Tensor
    step: int
    purpose: int

    def keys(self) -> Tensor:
        """A key per graph of this step and purpose: [G]."""
        return fold(fold(self.key, self.step), self.purpose)

    def keys_of(self, particles: Tensor, draw: int = 0) -> Tensor:
        """Keys for particle numbers [K], and the number of a draw: [G, K]."""
        return fold(fold(self.keys()[:, None], particles), draw)


def normalise(log_weights: Tensor) -> Tensor:
    """log w_k - log Σ_j w_j, floored: [G, K] -> [G, K]."""
    if fast(log_weights):
        return apply(_Normalise, log_weights)
    return log_weights.log_softmax(1).clamp(min=FLOOR)


def bound(x: Tensor, limit: float) -> Tensor:
    """c tanh(x / c), which lies within ±c, the limit: [G, K] -> [G, K]."""
    if fast(x):
        return apply(_Bound, x, limit)
    return limit * (x / limit).tanh()


def resample(log_weights: Tensor, alpha: float, systematic: bool, noise_key: NoiseKey) -> tuple[Tensor, Tensor]:
    """Ancestors a_k ~ q = α w + (1 - α)/K and the new log-weights log w_a / (K q_a), not normalised: both [G, K].

    In expectation the new weights of j's copies sum to w_j, exactly.

    Args:
        log_weights: normalised, [G, K].
        alpha: α in [0, 1].
        systematic: positions (k + u)/K with one u a graph, instead of one each.
        noise_key: of the random numbers.
    """
    if fast(log_weights) and log_weights.shape[1] <= MOST:
        return apply(_Resample, log_weights, alpha, systematic, noise_key)
    K = log_weights.shape[1]
    log_q = _proposal(log_weights, alpha)
    cumulative = log_q.detach().double().exp().cumsum(1)
    k = torch.arange(K, device=log_weights.device)
    u = uniform(fold(noise_key.keys()[:, None], k)) if not systematic else (k + uniform(noise_key.keys())[:, None]) / K
    ancestors = torch.searchsorted(cumulative, (u * cumulative[:, -1:]).contiguous(), right=True)
    ancestors = ancestors.clamp(max=K - 1)  # rounding may end a hair past the last
    return ancestors, (log_weights - log_q).gather(1, ancestors) - math.log(K)


def _proposal(log_weights: Tensor, alpha: float) -> Tensor:
    """log q = log(α w + (1 - α)/K): [G, K] -> [G, K]."""
    if alpha == 1:  # exactly w, so that w / q is exactly 1 and its gradient exactly 0
        return log_weights
    if alpha == 0:
        return torch.full_like(log_weights, -math.log(log_weights.shape[1]))
    uniform = math.log((1 - alpha) / log_weights.shape[1])
    return torch.logaddexp(math.log(alpha) + log_weights, torch.full_like(log_weights, uniform))


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, log_weights: Tensor) -> Tensor:
        from pfgnn.ops.triton.weigh import normalise

        out = normalise(log_weights.contiguous())
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        from pfgnn.ops.triton.weigh import normalise_backward

        return normalise_backward(gradients[0].contiguous(), *ctx.saved_tensors)


class _Bound(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
        from pfgnn.ops.triton.weigh import bound

        out = bound(x.contiguous(), limit)
        ctx.save_for_backward(out)
        ctx.limit = limit
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        from pfgnn.ops.triton.weigh import bound_backward

        (out,) = ctx.saved_tensors
        return bound_backward(gradients[0].contiguous(), out, ctx.limit), None


class _Resample(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, log_weights: Tensor, alpha: float, systematic: bool, noise_key: NoiseKey
    ) -> tuple[Tensor, Tensor]:
        from pfgnn.ops.triton.weigh import resample

        log_weights = log_weights.contiguous()
        ancestors, kept = resample(log_weights, alpha, systematic, *noise_key)
        ctx.save_for_backward(log_weights, ancestors)
        ctx.alpha = alpha
        ctx.mark_non_differentiable(ancestors)
        ctx.set_materialize_grads(False)  # no zeros for them
        return ancestors, kept

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        from pfgnn.ops.triton.weigh import resample_backward

        if gradients[1] is None:
            return None, None, None, None
        log_weights, ancestors = ctx.saved_tensors
        return resample_backward(gradients[1].contiguous(), log_weights, ancestors, ctx.alpha), None, None, None
