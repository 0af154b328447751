"""A hidden layer fused with the next operation: a score of each row, a mean over segments, or a second layer."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from pfgnn.ops.cpu import mlp as cpu
from pfgnn.ops.dispatch import apply, fast, once, product_dtype
from pfgnn.ops.segments import Segments, segment_mean
from pfgnn.ops.side_stream import beside, joined


def hidden_score(x: Tensor, weight: Tensor, bias: Tensor, last: Tensor, last_bias: Tensor) -> Tensor:
    """v · relu(W x + b) + c.

    Args:
        x: Inputs, shape [..., D].
        weight: W, shape [P, D].
        bias: b, shape [P].
        last: v, shape [P].
        last_bias: c, shape [1].

    Returns:
        The scores, shape [...].
    """
    if fast(x):
        return apply(_Score, x, weight, bias, last, last_bias)
    # Not a matrix product, because libraries are slow at products with a single column.
    return (linear(x, weight, bias).relu() * last).sum(-1) + last_bias


def hidden_mean(x: Tensor, weight: Tensor, bias: Tensor, segments: Segments) -> Tensor:
    """The mean of relu(W x + b) over the rows of each segment.

    Args:
        x: Inputs, shape [N, K, D].
        weight: W, shape [P, D].
        bias: b, shape [P].
        segments: S segments of the N rows.

    Returns:
        The means, shape [S, K, P].
    """
    if segments.start is not None and segments.order is None and fast(x):
        return apply(_Mean, x, weight, bias, segments)
    return segment_mean(linear(x, weight, bias).relu(), segments)


def two_layers(x: Tensor, weight: Tensor, bias: Tensor, last: Tensor, last_bias: Tensor) -> Tensor:
    """V relu(W x + b) + c.

    Args:
        x: Inputs, shape [..., D].
        weight: W, shape [P, D].
        bias: b, shape [P].
        last: V, shape [Q, P].
        last_bias: c, shape [Q].

    Returns:
        The outputs, shape [..., Q].
    """
    if fast(x):
        return apply(_TwoLayers, x, weight, bias, last, last_bias)
    if cpu.fits(x):
        return cpu.two_layers(x, weight, bias, last, last_bias)
    return linear(linear(x, weight, bias).relu_(), last, last_bias)


def _hidden(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The hidden layer before the relu, with padded rows, which matrix products are fast at.

    P' and D° are P and D + 1, padded to multiples of 8. A column of ones in X carries the bias.

    Returns:
        X: Input rows with the column of ones, shape [M, D°].
        W: The map with the bias, shape [P', D°].
        u: Their product, shape [M, P'].
    """
    from pfgnn.ops.triton.rows import widen, widen_map

    dtype = product_dtype(x)
    ctx.shape = x.shape
    X, W = widen(x.reshape(-1, x.shape[-1]), dtype, one=True), widen_map(weight, bias, dtype)
    return X, W, X @ W.T


def _hidden_backward(
    ctx: Any, du: Tensor, X: Tensor, W: Tensor, weight: Tensor, bias: Tensor, parts: Tensor | None = None
) -> tuple[Tensor, ...]:
    """The gradients of x, weight and bias from the gradient du of u.

    If ``parts`` [B, ...] is given, its sum over B is returned too, as the gradient of another parameter.
    """
    from pfgnn.ops.triton.rows import cut_map_gradient, narrow

    with joined(du):
        with beside(du):
            of_map = cut_map_gradient(du.T @ X, weight, bias)
            rest = () if parts is None else (parts.sum(0).to(weight.dtype),)
        dx = narrow(du @ W, ctx.shape)
    return dx, *of_map, *rest


class _Score(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, last: Tensor, last_bias: Tensor) -> Tensor:
        from pfgnn.ops.triton.mlp import score_rows

        X, W, u = _hidden(ctx, x, weight, bias)
        ctx.save_for_backward(X, W, u, weight, bias, last)
        return score_rows(u, last, last_bias).view(x.shape[:-1])

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        from pfgnn.ops.triton.mlp import score_gradients

        X, W, u, weight, bias, last = ctx.saved_tensors
        du, parts = score_gradients(gradients[0].reshape(-1), u, last)
        *rest, of_last = _hidden_backward(ctx, du, X, W, weight, bias, parts)
        return *rest, of_last[:-1], of_last[-1:]


class _Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, segments: Segments) -> Tensor:
        from pfgnn.ops.triton.segments import sum_rows

        assert segments.start is not None
        X, W, u = _hidden(ctx, x, weight, bias)
        ctx.save_for_backward(X, W, u, weight, bias)
        ctx.segments = segments
        mean = sum_rows(u.view(len(x), -1), None, segments.start, mean=True, relu=True)  # [S, K P']
        return mean.view(segments.size, x.shape[1], -1)[..., : len(weight)]

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from pfgnn.ops.triton.rows import widen
        from pfgnn.ops.triton.segments import spread_rows

        X, W, u, weight, bias = ctx.saved_tensors
        g = widen(gradients[0].reshape(-1, len(weight)), u.dtype)  # [S K, P']
        of_rows = u.view(ctx.shape[0], -1)  # [N, K P']
        du = spread_rows(g.view(ctx.segments.size, -1), ctx.segments.index, ctx.segments.start, positive=of_rows)
        return *_hidden_backward(ctx, du.view_as(u), X, W, weight, bias), None


class _TwoLayers(torch.autograd.Function):
    """As in torch, but the gradients of the weights run on a side stream, so that the rest does not wait for them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *maps: Tensor) -> Tensor:
        ctx.shape, dtype = x.shape, product_dtype(x)
        X = x.reshape(-1, x.shape[-1]).to(dtype)  # [M, D]
        W, b, V, c = (tensor.to(dtype) for tensor in maps)
        h = torch._addmm_activation(b, X, W.T)  # relu(X W^T + b) in one kernel, [M, P]
        ctx.save_for_backward(X, h, W, V)
        return torch.addmm(c, h, V.T).view(*x.shape[:-1], len(V))

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        from pfgnn.ops.triton.rows import sum_columns

        X, h, W, V = ctx.saved_tensors
        g = gradients[0].reshape(-1, len(V))  # [M, Q]
        with joined(g):
            with beside(g):
                dV, dc = g.T @ h, sum_columns(g).to(g.dtype)
            du = torch.ops.aten.threshold_backward(g @ V, h, 0)  # [M, P]
            with beside(g):
                dW, db = du.T @ X, sum_columns(du).to(g.dtype)
            dx = (du @ W).view(ctx.shape)
        return dx, dW, db, dV, dc
