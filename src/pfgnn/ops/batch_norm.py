"""Normalisation over all nodes, graphs and particles of a batch, fused with activation and residual."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.segments import Segments


class BatchNorming(NamedTuple):
    """The parameters of γ (h - μ) / √(σ² + ε) + β, where h is first clamped to ±limit.

    In training, μ and σ² are those of the batch, and the running ones are updated in place. In evaluation, μ and σ² are
    the running ones.

    Fields:
        scale: γ, shape [D].
        shift: β, shape [D].
        mean: Running mean, shape [D].
        variance: Running variance, shape [D].
        momentum: Weight of the new batch in the running mean and variance.
        eps: ε.
        limit: Largest absolute value of h.
        training: Whether the model is in training mode.
    """

    scale: Tensor
    shift: Tensor
    mean: Tensor
    variance: Tensor
    momentum: float
    eps: float
    limit: float
    training: bool


def normalise_batch(h: Tensor, norming: BatchNorming, nodes: Segments, padding: int) -> Tensor:
    """Normalise h over all nodes, graphs and particles.

    Args:
        h: Embeddings, shape [N, ..., D].
        norming: Parameters of the norm.
        nodes: The nodes of each graph.
        padding: Number of graphs at the end of the batch that do not count in μ and σ².

    Returns:
        The normalised embeddings, same shape as h.
    """
    h = h.clamp(-norming.limit, norming.limit).to(torch.promote_types(h.dtype, norming.scale.dtype))
    mean, variance = norming.mean, norming.variance
    if norming.training:
        rows = h.shape[:-1].numel()
        weight, count = h.new_ones(()), h.new_full((), rows)
        if padding:
            real = (nodes.index < nodes.size - padding).to(h.dtype)
            weight, count = real.view(-1, *(1,) * (h.dim() - 1)), real.sum() * (rows // h.shape[0])
        mean = (weight * h).flatten(0, -2).sum(0) / count
        variance = (weight * (h - mean).square()).flatten(0, -2).sum(0) / count
        with torch.no_grad():
            unbiased = variance * count / (count - 1).clamp(min=1)
            norming.mean.lerp_(mean.to(norming.mean.dtype), norming.momentum)
            norming.variance.lerp_(unbiased.to(norming.variance.dtype), norming.momentum)
    return norming.scale * (h - mean) * torch.rsqrt(variance + norming.eps) + norming.shift


def activate_batch(
    h: Tensor, x: Tensor | None, norming: BatchNorming, nodes: Segments, padding: int, relu: bool = True
) -> Tensor:
    """relu(norm(h)), plus the residual x if it is given.

    Args:
        h: Embeddings, shape [N, ..., D].
        x: Residual, same shape as h, or None.
        norming: Parameters of the norm; see :func:`normalise_batch`.
        nodes: The nodes of each graph.
        padding: Number of graphs at the end of the batch that do not count in μ and σ².
        relu: Whether to apply the relu.

    Returns:
        The result, same shape as h.
    """
    if nodes.start is not None and fast(h):
        return apply(_Activate, h, x, *norming, nodes.start[nodes.size - padding], relu)
    from pfgnn.ops.cpu import batch_norm as cpu

    if cpu.fits(h, x, norming, padding):
        return cpu.activate(h, x, norming, relu)
    y = normalise_batch(h, norming, nodes, padding)
    y = y.relu() if relu else y
    return y if x is None else x + y


class _Activate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, x: Tensor | None, *rest: Any) -> Tensor:
        from pfgnn.ops.triton.batch_norm import activate, moments
        from pfgnn.ops.triton.rows import apart

        *fields, real, ctx.relu = rest  # real: number of nodes without padding, []
        norming, h = BatchNorming(*fields), apart(h)
        mean, root = moments(h, norming, real)
        ctx.save_for_backward(h, mean, root, real, *norming[:4])
        ctx.rest, ctx.residual = norming[4:], None if x is None else x.dtype
        return activate(h, None if x is None else x.contiguous(), norming, mean, root, ctx.relu)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from pfgnn.ops.triton.batch_norm import activate_backward

        h, mean, root, real, *tensors = ctx.saved_tensors
        g = gradients[0].contiguous()
        dh, of_parameters = activate_backward(g, h, BatchNorming(*tensors, *ctx.rest), mean, root, real, ctx.relu)
        return dh, None if ctx.residual is None else g.to(ctx.residual), *of_parameters, *(None,) * 8
