"""Batch norm on a CPU, with the relu and the residual that follow it."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.batch_norm import BatchNorming
from pfgnn.ops.cpu.blocks import blocks, large
from pfgnn.ops.dispatch import apply, once

EXACT = (torch.float32, torch.float64)  # dtypes that sums over all rows can have


def fits(h: Tensor, x: Tensor | None, norming: BatchNorming, padding: int) -> bool:
    """Whether :func:`activate` can be used and is faster than the plain code. No value may need to be clamped."""
    dtype = norming.scale.dtype
    own = [h.dtype, norming.mean.dtype, *([] if x is None else [x.dtype])]
    if not large(h) or padding or dtype not in EXACT or any(torch.promote_types(one, dtype) != dtype for one in own):
        return False
    least, most = h.aminmax()
    return bool(least >= -norming.limit) and bool(most <= norming.limit)


def activate(h: Tensor, x: Tensor | None, norming: BatchNorming, relu: bool) -> Tensor:
    """relu(norm(h)), plus x if it is given; see :func:`pfgnn.ops.batch_norm.activate_batch`."""
    return apply(_Activate, h, x, *norming, relu)


class _Activate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, x: Tensor | None, *rest: Any) -> Tensor:
        *fields, relu = rest
        norming, rows = BatchNorming(*fields), h.reshape(-1, h.shape[-1])
        mean, variance = _moments(rows, norming) if norming.training else (norming.mean.clone(), norming.variance)
        root = torch.rsqrt(variance + norming.eps)
        factor = norming.scale * root
        out, residual = torch.empty_like(rows, dtype=mean.dtype), None if x is None else x.reshape(rows.shape)
        for block in blocks(*rows.shape):
            y = torch.addcmul(norming.shift, rows[block] - mean, factor, out=out[block])
            if relu:
                y.relu_()
            if residual is not None:
                y.add_(residual[block])
        ctx.relu, ctx.training, ctx.shape = relu, norming.training, h.shape
        ctx.save_for_backward(rows, mean, root, factor, norming.shift)
        return out.view(h.shape)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        rows, mean, root, factor, shift = ctx.saved_tensors
        g = gradients[0].reshape(rows.shape)
        of_rows, of_factor, of_shift = torch.empty_like(rows), torch.zeros_like(shift), torch.zeros_like(shift)

        def parts(block: slice) -> tuple[Tensor, Tensor]:
            """h - μ, and the gradient before the relu."""
            centred = rows[block] - mean
            if not ctx.relu:
                return centred, g[block]
            return centred, torch.ops.aten.threshold_backward(g[block], torch.addcmul(shift, centred, factor), 0)

        for block in blocks(*rows.shape):
            centred, part = parts(block)
            of_shift += part.sum(0)
            of_factor += centred.mul_(part).sum(0)
        # In training μ and σ² depend on all rows.
        share = factor / len(rows) if ctx.training else torch.zeros_like(factor)
        of_mean, of_square = -of_shift * share, -of_factor * root.square() * share
        for block in blocks(*rows.shape):
            centred, part = parts(block)
            of_rows[block] = torch.addcmul(of_mean, centred, of_square).addcmul_(part, factor)
        residual = gradients[0] if ctx.needs_input_grad[1] else None
        return of_rows.view(ctx.shape), residual, of_factor * root, of_shift, *(None,) * 7


def _moments(rows: Tensor, norming: BatchNorming) -> tuple[Tensor, Tensor]:
    """μ and σ² of the rows [M, D], which also change the running ones."""
    dtype = norming.scale.dtype
    mean, variance = rows.mean(0, dtype=dtype), torch.zeros_like(norming.scale)
    for block in blocks(*rows.shape):
        variance += (rows[block] - mean).square_().sum(0)
    norming.mean.lerp_(mean, norming.momentum)
    norming.variance.lerp_(variance / max(1, len(rows) - 1), norming.momentum)
    return mean, variance / len(rows)
