"""Normalisation over the nodes of each graph and particle, fused with activation and residual."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.segments import Segments, segment_mean, segment_sum, spread

LARGE = 8192  # nodes per graph; one program of the kernel takes a whole graph, which is slow if it is larger


class Norming(NamedTuple):
    """The parameters of γ c / √(mean c² + ε) + β, with c = h - α μ, where h is first clamped to ±limit.

    Fields:
        scale: γ, shape [D].
        shift: β, shape [D].
        mean_scale: α, shape [D].
        eps: ε.
        limit: Largest absolute value of h.
    """

    scale: Tensor
    shift: Tensor
    mean_scale: Tensor
    eps: float
    limit: float


def normalise_graphs(h: Tensor, norming: Norming, nodes: Segments, near: Tensor | None = None) -> Tensor:
    """Normalise h, with μ and mean over the nodes of each graph and particle.

    Args:
        h: Embeddings, shape [N, ..., D].
        norming: Parameters of the norm.
        nodes: The nodes of each graph.
        near: Weights w of the nodes in both means, which are then Σ w h / max(1, Σ w). Shape [N, K], with h [N, K, D].

    Returns:
        The normalised embeddings, same shape as h.
    """
    scale, shift, mean_scale, eps, limit = norming
    h = h.clamp(-limit, limit)

    def mean(v: Tensor) -> Tensor:
        if near is None:
            return segment_mean(v, nodes)
        w = near[..., None].to(v.dtype)
        return segment_sum(w * v, nodes) / segment_sum(w, nodes).clamp(min=1)

    centred = h - mean_scale * spread(mean(h), nodes)
    variance = mean(centred.square())
    return scale * centred * spread(torch.rsqrt(variance + eps), nodes) + shift


def activate_graphs(
    h: Tensor, x: Tensor | None, norming: Norming, nodes: Segments, relu: bool = True, near: Tensor | None = None
) -> Tensor:
    """relu(norm(h)), plus the residual x if it is given.

    Args:
        h: Embeddings, shape [N, ..., D].
        x: Residual, same shape as h, or None.
        norming: Parameters of the norm; see :func:`normalise_graphs`.
        nodes: The nodes of each graph.
        relu: Whether to apply the relu.
        near: Weights of the nodes; see :func:`normalise_graphs`.

    Returns:
        The result, same shape as h.
    """
    if nodes.start is not None and fast(h) and len(h) < LARGE * nodes.size:
        return apply(_Activate, h, x, *norming, nodes, relu, near)
    y = normalise_graphs(h, norming, nodes, near)
    y = y.relu() if relu else y
    return y if x is None else x + y


class _Activate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, x: Tensor | None, *rest: Any) -> Tensor:
        from pfgnn.ops.triton.graph_norm import activate
        from pfgnn.ops.triton.rows import apart

        *norming, nodes, ctx.relu, near = rest
        near = None if near is None else near.float().contiguous()
        h, x = apart(h), None if x is None else x.contiguous()
        out, mean, root = activate(h, x, Norming(*norming), nodes.start, ctx.relu, near)
        ctx.save_for_backward(h, mean, root, near, *norming[:3])
        ctx.rest, ctx.start, ctx.residual = norming[3:], nodes.start, None if x is None else x.dtype
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from pfgnn.ops.triton.graph_norm import activate_backward

        h, mean, root, near, *parameters = ctx.saved_tensors
        g = gradients[0].contiguous()
        norming = Norming(*parameters, *ctx.rest)
        dh, parts = activate_backward(g, h, norming, mean, root, ctx.start, h.shape[-1], ctx.relu, near)
        of_parameters = parts.sum(0).to(parameters[0].dtype).unbind()
        return dh.view(h.shape), None if ctx.residual is None else g.to(ctx.residual), *of_parameters, *(None,) * 5
