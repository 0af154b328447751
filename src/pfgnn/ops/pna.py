"""The layer of PNA. In the forward pass, the kernels store neither the messages nor the scaled aggregates."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once, product_dtype
from pfgnn.ops.graph_norm import Norming, activate_graphs
from pfgnn.ops.segments import Segments, segment_max, segment_mean, segment_min, spread
from pfgnn.ops.side_stream import beside, joined

FLOOR = 1e-5  # a variance up to this counts as 0, as in PyG; this keeps the gradient of its square root finite


class Weights(NamedTuple):
    """The linear maps of a layer with T towers. Each tower has F = D / T inputs and outputs.

    Fields:
        pre: A, B and the map of own_i, shape [T, 3 F, F].
        pre_bias: Biases of B and of own_i, shape [T, 2 F].
        edge: C of all towers, shape [D, D], or None.
        post: U_s for each of the three scalers s, side by side, shape [T, 4 F, 3 F].
        mix: V, shape [D, D].
        mix_bias: Bias of V, shape [D].
    """

    pre: Tensor
    pre_bias: Tensor
    edge: Tensor | None
    post: Tensor
    mix: Tensor
    mix_bias: Tensor


class After(NamedTuple):
    """The operations after the layer: relu(norm(h)), plus the residual x.

    Fields:
        norming: Parameters of the norm.
        nodes: The nodes of each graph.
        residual: Whether to add x.
    """

    norming: Norming
    nodes: Segments
    residual: bool


def pna(
    x: Tensor,
    edge_attr: Tensor | None,
    weights: Weights,
    delta: float,
    sources: Segments,
    targets: Segments,
    after: After | None = None,
) -> Tensor:
    """h_i = V (own_i + Σ_s s_i U_s [mean, min, max, std]_j m_ij), with messages m_ij = A x_j + B x_i + C e_ij.

    own_i is a linear map of x_i with a bias. The scalers s_i are 1, log(d_i + 1) / δ and its inverse, where d_i is the
    in-degree of i, at least 1. Each tower does this with its F columns of x, except that V reads all towers.

    B x_i is the same in all messages to i. So it is added to their mean, min and max, and it does not change their std.
    A scaler is one factor per node, so it is applied after U_s. If a node receives no messages, its aggregates are 0.

    Args:
        x: Embeddings, shape [N, K, D].
        edge_attr: e, shape [E, D], the same for all particles. None if ``weights.edge`` is None.
        weights: The linear maps of the layer.
        delta: δ.
        sources: The edges that leave each node.
        targets: The edges that reach each node. Edges are sorted by their targets.
        after: Operations to apply to h. With None, h itself is returned.

    Returns:
        The new embeddings, shape [N, K, D].
    """
    if targets.start is not None and fast(x):
        parameters, others = ((), ()) if after is None else (after.norming[:3], (*after.norming[3:], *after[1:]))
        return apply(_PNA, x, edge_attr, *weights, *parameters, others, delta, sources, targets)
    (N, K, D), T = x.shape, len(weights.post)
    rows = x.reshape(N * K, T, -1).transpose(0, 1)  # [T, N K, F]
    bias = torch.nn.functional.pad(weights.pre_bias, (D // T, 0))  # A has no bias
    pre = torch.baddbmm(bias[:, None], rows, weights.pre.mT)  # [T, N K, 3 F]
    p, q, own = pre.chunk(3, 2)
    message = spread(p.transpose(0, 1).reshape(N, K, D), sources)  # [E, K, D]
    if edge_attr is not None and weights.edge is not None:
        # In place, because allocating memory is slow on a CPU.
        message += torch.nn.functional.linear(edge_attr, weights.edge)[:, None]
    mean = segment_mean(message, targets)
    variance = segment_mean(spread(mean, targets).sub_(message).square(), targets)
    low, high = segment_min(message, targets), segment_max(message, targets)
    std = torch.where(variance > FLOOR, variance.clamp(min=FLOOR).sqrt(), 0.0)
    degree = targets.counts.repeat_interleave(K)[:, None]  # [N K, 1]
    q = q * (degree > 0)
    mean, low, high, std = (a.view(N * K, T, -1).transpose(0, 1) for a in (mean, low, high, std))  # [T, N K, F]
    y = torch.cat([mean + q, low + q, high + q, std], 2) @ weights.post  # [T, N K, 3 F]
    s = (degree.clamp(min=1) + 1).to(y.dtype).log() / delta  # [N K, 1]
    one, two, three = y.chunk(3, 2)  # [T, N K, F] each
    z = torch.addcdiv(torch.addcmul(own + one, s, two), three, s).transpose(0, 1).reshape(x.shape)
    h = torch.nn.functional.linear(z, weights.mix, weights.mix_bias)
    return h if after is None else activate_graphs(h, x if after.residual else None, after.norming, after.nodes)


class _PNA(torch.autograd.Function):
    """The layer with kernels. Rows are padded to multiples of 8, which matrix products are fast at.

    D' and F' are D and F padded. D° and F° are D + 1 and F + 1 padded: a column of ones carries the biases. M' is
    M = N K rounded up to whole shares; see :func:`pfgnn.ops.triton.pna_towers.share_of`. The padding is 0 in every
    weight and in every gradient, so it changes no sum.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, edge_attr: Tensor | None, *rest: Any) -> Tensor:
        from pfgnn.ops.triton import pna as kernels
        from pfgnn.ops.triton import pna_scalers as scalers
        from pfgnn.ops.triton import pna_towers as towers
        from pfgnn.ops.triton.graph_norm import activate
        from pfgnn.ops.triton.pna_maps import pad_weights
        from pfgnn.ops.triton.rows import narrow, widen

        *tensors, others, delta, sources, targets = rest
        weights, norm = Weights(*tensors[:6]), tensors[6:]
        N, K, D = x.shape
        dtype = product_dtype(x)
        maps = pad_weights(weights, dtype)
        with joined(x):
            X_edge = r = None
            if edge_attr is not None and maps.C is not None:
                with beside(x):
                    X_edge = widen(edge_attr, dtype)  # [E, D']
                    r = X_edge @ maps.C.T  # [E, T F']
            X = towers.split_towers(x.reshape(N * K, D), len(maps.W), dtype)  # [T, M', F°]
            pre = torch.bmm(X, maps.W.mT)  # [T, M', 3 F']
        a = kernels.aggregate(pre, r, N * K, K, sources.index, targets.start)  # [T, M', 4 F']
        y = torch.bmm(a, maps.U)  # [T, M', 3 F']
        z = scalers.scale(y, pre, N * K, K, D, delta, targets.start)  # [M, D°]
        h = out = narrow(z @ maps.V.T, x.shape)
        kept: tuple[Tensor, ...] = ()
        if norm:
            eps, limit, nodes, residual = others
            norming = Norming(norm[0], norm[1], norm[2], eps, limit)
            out, *moments = activate(h, x.contiguous() if residual else None, norming, nodes.start)
            kept = (h, *moments, *norm)
        ctx.save_for_backward(X, X_edge, r, pre, a, z, *maps, *weights, *kept)
        ctx.shape, ctx.others, ctx.delta, ctx.sources, ctx.targets = x.shape, others, delta, sources, targets
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from pfgnn.ops.triton import pna as kernels
        from pfgnn.ops.triton import pna_scalers as scalers
        from pfgnn.ops.triton import pna_towers as towers
        from pfgnn.ops.triton.graph_norm import activate_backward
        from pfgnn.ops.triton.pna_maps import Maps, cut_gradients
        from pfgnn.ops.triton.rows import padded, widen

        X, X_edge, r, pre, a, z, W, C, U, V, *tensors = ctx.saved_tensors
        weights, norm = Weights(*tensors[:6]), tensors[6:]
        N, K, D = ctx.shape
        g, residual = gradients[0], None
        if norm:
            h, mean, root, scale, shift, mean_scale = norm
            eps, limit, nodes, added = ctx.others
            g = g.contiguous()
            residual = g if added else None
            norming = Norming(scale, shift, mean_scale, eps, limit)
            g, parts = activate_backward(g, h, norming, mean, root, nodes.start, padded(D))  # [M, D'] already
        else:
            g = widen(g.reshape(N * K, D), X.dtype)  # [M, D']
        with joined(g):
            with beside(g):
                d_norm = parts.sum(0).to(norm[-1].dtype).unbind() if norm else ()
                dV = g.T @ z  # [D', D°]
            d_pre = torch.empty_like(pre)
            dy = scalers.scale_gradients(g @ V, d_pre, K, D, ctx.delta, ctx.targets.start)  # [T, M', 3 F']
            with beside(g):
                dU = towers.share_products(a, dy)  # [T, S, 4 F', 3 F']
            messages = kernels.message_gradients(
                torch.bmm(dy, U.mT), pre, r, d_pre, N * K, K, ctx.sources.index, ctx.targets.start
            )  # [E, K, T F']
            d_edge_attr = dC = None
            if r is not None:
                with beside(g):
                    d_r = kernels.sum_particles(messages)  # [E, T F']
                    d_edge_attr = (d_r @ C)[:, :D]
                    dC = d_r.T @ X_edge  # [T F', D']
            kernels.sum_messages(messages, d_pre, ctx.sources.order, ctx.sources.start)
            with beside(g):
                dW = towers.share_products(d_pre, X)  # [T, S, 3 F', F°]
                d_weights = cut_gradients(Maps(dW, dC, dU, dV), weights)
            dx = towers.join_towers(torch.bmm(d_pre, W), ctx.shape, residual)
        return dx, d_edge_attr, *d_weights, *d_norm, None, None, None, None
