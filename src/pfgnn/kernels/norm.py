"""Normalisation over the nodes of each graph and particle, fused with what a layer does next."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.kernels.choice import apply, fast, once
from pfgnn.kernels.segments import Segments, segment_mean, spread


def normalise_graphs(
    h: Tensor, scale: Tensor, shift: Tensor, mean_scale: Tensor, eps: float, limit: float, nodes: Segments
) -> Tensor:
    """γ c / √(mean c² + ε) + β, c = h - α μ, μ and mean over the nodes of each graph and particle: [N, ..., D] -> same.

    h is clamped to ±limit first.

    Args: h; scale, shift, mean_scale: γ, β, α, each [D]; eps: ε; limit; nodes: the graph of each node.
    """
    h = h.clamp(-limit, limit)
    centred = h - mean_scale * spread(segment_mean(h, nodes), nodes)
    variance = segment_mean(centred.square(), nodes)
    return scale * centred * spread(torch.rsqrt(variance + eps), nodes) + shift


def activate_graphs(
    h: Tensor,
    x: Tensor | None,
    scale: Tensor,
    shift: Tensor,
    mean_scale: Tensor,
    eps: float,
    limit: float,
    nodes: Segments,
) -> Tensor:
    """relu of :func:`normalise_graphs`, plus x if it is given: [N, ..., D] -> same."""
    if nodes.start is not None and fast(h):
        return apply(_Activate, h, x, scale, shift, mean_scale, eps, limit, nodes)
    y = normalise_graphs(h, scale, shift, mean_scale, eps, limit, nodes).relu()
    return y if x is None else x + y


class _Activate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, x: Tensor | None, *rest: Any) -> Tensor:
        from pfgnn.kernels.triton_norm import activate

        scale, shift, mean_scale, eps, limit, nodes = rest
        h, x = _rows(h), None if x is None else x.contiguous()
        out, mean, root = activate(h, x, scale, shift, mean_scale, eps, limit, nodes.start)
        ctx.save_for_backward(h, scale, shift, mean_scale, mean, root)
        ctx.limit, ctx.start, ctx.residual = limit, nodes.start, None if x is None else x.dtype
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from pfgnn.kernels.triton_norm import activate_backward

        g = gradients[0].contiguous()
        dh, of_parameters = activate_backward(g, ctx.limit, ctx.start, *ctx.saved_tensors)
        return dh, None if ctx.residual is None else g.to(ctx.residual), *of_parameters, None, None, None


def _rows(h: Tensor) -> Tensor:
    """h [N, ..., D] with its rows at one distance from each other, such as those of a padded matrix."""
    flat = h.reshape(-1, h.shape[-1])  # a view, where they are
    return (flat if flat.stride(1) == 1 else flat.contiguous()).view(h.shape)
