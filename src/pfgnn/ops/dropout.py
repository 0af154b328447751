"""Dropout whose mask is a pure function of keys. It needs no generator and stores no mask."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.errors import InputError
from pfgnn.ops.dispatch import apply, fast
from pfgnn.ops.hashing import fold, uniform
from pfgnn.ops.segments import Segments
from pfgnn.ops.weights import NoiseKey


def dropout(
    x: Tensor, rate: float, noise_key: NoiseKey, particles: Tensor, number: int, node_key: Tensor, nodes: Segments
) -> Tensor:
    """x_nkd / (1 - rate) where u_nkd ≥ rate, else 0.

    u is the uniform random number of the key (seed, graph key, step, purpose, particle, number, node key, feature). So
    the mask does not depend on the rest of the batch, on how many particles are computed at a time, or on the device.
    The backward pass computes the mask again from the keys.

    Args:
        x: Values, shape [N, K, D], or [N, D] for one particle.
        rate: Probability that an entry is dropped, in [0, 1). With 0 the result is x itself.
        noise_key: Key of the random numbers.
        particles: Numbers of the particles, int64, shape [K]. For x [N, D], pass torch.tensor([0]).
        number: Number of this dropout, if a step has several, such as one per layer.
        node_key: Key of each node's own random numbers, int64, shape [N].
        nodes: The nodes of each graph.

    Returns:
        The result, same shape as x.
    """
    if not 0 <= rate < 1:
        raise InputError(f"the rate of dropout must be at least 0 and less than 1, but it is {rate}")
    K = x.shape[1] if x.dim() == 3 else 1
    if len(particles) != K:
        raise InputError(f"dropout needs the numbers of {K} particles, but got {len(particles)}")
    if rate == 0:
        return x
    return apply(_Dropout, x, rate, noise_key, particles, number, node_key, nodes)


def _drop(
    x: Tensor, rate: float, noise_key: NoiseKey, particles: Tensor, number: int, node_key: Tensor, nodes: Segments
) -> Tensor:
    keys = fold(noise_key.keys_of(particles, number)[nodes.index], node_key[:, None])  # [N, K]
    u = uniform(fold(keys[..., None], torch.arange(x.shape[-1], device=x.device)))  # [N, K, D]
    # A product instead of a division, so that the result is the same bit for bit on any device.
    return torch.where((u >= rate).view(x.shape), x * (1 / (1 - rate)), 0)


class _Dropout(torch.autograd.Function):
    """Dropout is linear, so its backward is the same dropout with the same keys. Neither x nor the mask is saved."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *rest: Any) -> Tensor:
        ctx.rest = rest
        if not fast(x):
            return _drop(x, *rest)
        from pfgnn.ops.triton.dropout import drop

        rate, noise_key, particles, number, node_key, nodes = rest
        return drop(x, rate, particles, number, node_key, nodes.index, *noise_key)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return dropout(gradients[0], *ctx.rest), None, None, None, None, None, None
