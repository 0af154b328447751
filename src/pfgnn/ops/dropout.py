"""Dropout whose mask is a pure function of keys: no generator, and no mask in memory."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.errors import InputError
from pfgnn.ops.dispatch import apply, fast
from pfgnn.ops.hashing import fold, uniform
from pfgnn.ops.segments import Segments
from pfgnn.ops.weigh import NoiseKey


def dropout(
    x: Tensor, rate: float, noise_key: NoiseKey, particles: Tensor, number: int, node_key: Tensor, nodes: Segments
) -> Tensor:
    """x_nkd / (1 - rate) where u_nkd ≥ rate, else 0.

    u is the uniform number of the key (seed, graph key, step, purpose, particle, number, node key, feature). So the
    mask depends neither on the rest of the batch, nor on how many particles are computed at a time, nor on the device.
    The gradient makes the mask again from the keys.

    Args:
        x: [N, K, D], or [N, D], which is one particle.
        rate: the share to drop, in [0, 1); with 0 the result is x itself.
        noise_key: of the random numbers.
        particles: their numbers, int64 [K]; for x [N, D] torch.tensor([0]).
        number: of this dropout, where a step has several, such as one a layer.
        node_key: int64 [N].
        nodes: the graph of each node.
    Returns: like x.
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
    return torch.where((u >= rate).view(x.shape), x * (1 / (1 - rate)), 0)  # a product: the same bits on any device


class _Dropout(torch.autograd.Function):
    """It is linear, so its gradient is itself, of the same keys; nothing of x's size is kept."""

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
