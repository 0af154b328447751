"""PNA's layer. The plain form says what it computes; the fast one stores no message and no scaled aggregate."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from pfgnn.kernels.choice import apply, fast
from pfgnn.kernels.segments import Segments, segment_max, segment_mean, segment_min, spread
from pfgnn.kernels.streams import beside, join

FLOOR = 1e-5  # a variance up to this counts as 0, as in PyG, which keeps the gradient of its root finite


class Weights(NamedTuple):
    """The maps of a layer of T towers, each of D inputs and F = D / T outputs.

    Fields: ``pre`` [(2 T + 1) D, D]: A and B of each tower, and the own part; ``pre_bias`` [(T + 1) D]: of B and the
    own part; ``edge`` [T D, D]: C, or None; ``post`` [T, 4 D, 3 F]: U, each scaler's side by side; ``mix`` [D, D] and
    ``mix_bias`` [D]: V.
    """

    pre: Tensor
    pre_bias: Tensor
    edge: Tensor | None
    post: Tensor
    mix: Tensor
    mix_bias: Tensor


def pna(
    x: Tensor, edge_attr: Tensor | None, weights: Weights, delta: float, sources: Segments, targets: Segments
) -> Tensor:
    """h_i = V (own_i + Σ_s s_i U_s [mean, min, max, std]_j m_ij), m_ij = A x_j + B x_i + C e_ij, for every tower.

    The scalers s are 1, log(d_i + 1) / δ and its inverse, d_i the number of i's edges, at least 1. B x_i is the same in
    all messages to i, so it is added to their mean, min and max, and std does not see it. Where a node receives none,
    the aggregates are 0. The scalers are factors of a node, so they come after U.

    Args:
        x: [N, K, D].
        edge_attr: [E, D], the same for all particles; None if ``weights.edge`` is.
        weights: of the layer.
        delta: δ.
        sources, targets: of the edges, which lie in order of their targets.
    Shapes: -> [N, K, D].
    """
    if targets.start is not None and fast(x):
        return apply(_PNA, x, edge_attr, *weights, delta, sources, targets)
    towers, D = len(weights.post), x.shape[-1]
    bias = torch.nn.functional.pad(weights.pre_bias, (towers * D, 0))  # A has none
    pre = torch.nn.functional.linear(x, weights.pre, bias)  # [N, K, (2 T + 1) D]
    p, q, own = pre.split([towers * D, towers * D, D], -1)
    message = spread(p, sources)  # [E, K, T D]
    if edge_attr is not None and weights.edge is not None:
        message = message + torch.nn.functional.linear(edge_attr, weights.edge)[:, None]
    mean = segment_mean(message, targets)
    variance = segment_mean((message - spread(mean, targets)).square(), targets)
    q = q * (targets.counts > 0)[:, None, None]
    low, high = segment_min(message, targets), segment_max(message, targets)
    std = torch.where(variance > FLOOR, variance.clamp(min=FLOOR).sqrt(), 0.0)
    four = (part.view(-1, towers, D).transpose(0, 1) for part in (mean + q, low + q, high + q, std))
    y = torch.bmm(torch.cat(list(four), -1), weights.post)  # [T, N K, 3 F]
    s = (targets.counts.clamp(min=1) + 1).to(y.dtype).log() / delta  # [N]
    s = s.repeat_interleave(x.shape[1])[:, None]  # [N K, 1]
    one, two, three = y.chunk(3, 2)  # [T, N K, F] each
    z = (one + s * two + three / s).transpose(0, 1).reshape(x.shape) + own
    return torch.nn.functional.linear(z, weights.mix, weights.mix_bias)


class _PNA(torch.autograd.Function):
    """On rows padded to multiples of 8, which the libraries for matrices want; a column of ones carries the biases.

    Padding is 0 in every weight, so it stays 0 in all that follows, gradients included.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, edge_attr: Tensor | None, *rest: Any) -> Tensor:
        from pfgnn.kernels import triton_pna as kernels

        *tensors, delta, sources, targets = rest
        weights = Weights(*tensors)
        (N, K, D), T = x.shape, len(weights.post)
        dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype
        near, far, F = kernels.padded(D), kernels.padded(D + 1), kernels.padded(D // T)  # D', D°, F'
        X_edge = C = r = None
        with beside(x):
            if edge_attr is not None and weights.edge is not None:
                X_edge = kernels.pad(edge_attr[None], len(edge_attr), near, dtype)[0]  # [E, D']
                C = kernels.pad(weights.edge.view(T, D, D), near, near, dtype).flatten(0, 1)  # [T D', D']
                r = X_edge @ C.T  # [E, T D']
            U = kernels.pad(weights.post.view(4 * T, 3 * D, -1), 3 * near, F, dtype).view(T, 4 * near, 3 * F)
            V = kernels.pad(weights.mix[None], near, far, dtype, weights.mix_bias)[0]  # [D', D°]
        X = kernels.pad(x.reshape(1, N * K, D), N * K, far, dtype, ones=True)[0]  # [M, D°]
        W = kernels.pad(weights.pre.view(-1, D, D), near, far, dtype, weights.pre_bias).flatten(0, 1)
        pre = X @ W.T  # [M, (2 T + 1) D']
        join(x)
        a = kernels.aggregate(pre, r, K, T, sources.index, targets.start)  # [T, M, 4 D']
        y = torch.bmm(a, U)  # [T, M, 3 F']
        z = kernels.scale(y, pre, K, D, delta, targets.start)  # [M, D°]
        ctx.save_for_backward(X, W, U, V, X_edge, C, r, pre, a, z)
        ctx.shape, ctx.delta, ctx.sources, ctx.targets = x.shape, delta, sources, targets
        return (z @ V.T)[:, :D].view(x.shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from pfgnn.kernels import triton_pna as kernels

        X, W, U, V, X_edge, C, r, pre, a, z = ctx.saved_tensors
        (N, K, D), T = ctx.shape, len(U)
        g = kernels.pad(gradients[0].reshape(1, N * K, D), N * K, kernels.padded(D), X.dtype)[0]  # [M, D']
        with beside(g):
            d_mix = g.T @ z  # [D', D°]
            d_mix, d_mix_bias = d_mix[:D, :D].contiguous(), d_mix[:D, D].contiguous()
        d_pre = torch.empty_like(pre)
        dy = kernels.scale_gradients(g @ V, d_pre, T, K, D, ctx.delta, ctx.targets.start)  # [T, M, 3 F']
        with beside(g):
            d_post = torch.bmm(a.mT, dy).view(4 * T, -1, 3, dy.shape[2] // 3)
            d_post = d_post[:, :D, :, : D // T].reshape(T, 4 * D, -1)
        messages = kernels.message_gradients(
            torch.bmm(dy, U.mT), pre, r, d_pre, K, T, ctx.sources.index, ctx.targets.start
        )  # [E, K, T D']
        d_edge_attr = d_edge = None
        if r is not None:
            with beside(g):
                d_r = kernels.sum_particles(messages)  # [E, T D']
                d_edge_attr = (d_r @ C)[:, :D]
                d_edge = (d_r.T @ X_edge).view(T, -1, X_edge.shape[1])[:, :D, :D].reshape(T * D, D)
        kernels.sum_messages(messages, d_pre, ctx.sources.order, ctx.sources.start)
        with beside(g):
            d_W = (d_pre.T @ X).view(2 * T + 1, -1, X.shape[1])
            d_W, d_bias = d_W[:, :D, :D].reshape(-1, D), d_W[T:, :D, D].reshape(-1)
        dx = (d_pre @ W)[:, :D].view(ctx.shape)
        join(g)
        return dx, d_edge_attr, d_W, d_bias, d_edge, d_post, d_mix, d_mix_bias, None, None, None
