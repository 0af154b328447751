"""PNA's aggregators and degree scalers, fused: forward no message is stored, and a scaled aggregate never."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.kernels.choice import apply, fast
from pfgnn.kernels.segments import Segments, segment_max, segment_mean, segment_min, spread

FLOOR = 1e-5  # a variance up to this counts as 0, as in PyG, which keeps the gradient of its root finite


def aggregate(
    pre: Tensor, r: Tensor | None, towers: int, sources: Segments, targets: Segments
) -> tuple[Tensor, Tensor]:
    """[mean, min, max, std]_j of the messages p_j + q_i + r_ij that node i receives, tower by tower, and the own part.

    q_i is the same in all messages to i, so it is added to mean, min and max, and std does not see it. A node that
    receives none has zeros.

    Args:
        pre: p, q and the own part side by side, [N, K, 2 T D + D].
        r: the edges' part, [E, T D], the same for all particles; or None.
        towers: T.
        sources, targets: of the edges, which lie in order of their targets.
    Returns: the aggregates [T, N K, 4 D], and the own part [N K, D].
    """
    if targets.start is not None and fast(pre):
        return apply(_Aggregate, pre, r, towers, sources, targets)
    width = (pre.shape[-1] * towers) // (2 * towers + 1)  # T D
    p, q, own = pre.split([width, width, pre.shape[-1] - 2 * width], -1)
    message = spread(p, sources)  # [E, K, T D]
    if r is not None:
        message = message + r[:, None]
    mean = segment_mean(message, targets)
    variance = segment_mean((message - spread(mean, targets)).square(), targets)
    q = q * (targets.counts > 0)[:, None, None]
    low, high = segment_min(message, targets), segment_max(message, targets)
    std = torch.where(variance > FLOOR, variance.clamp(min=FLOOR).sqrt(), 0.0)
    four = (part.view(-1, towers, width // towers).transpose(0, 1) for part in (mean + q, low + q, high + q, std))
    return torch.cat(list(four), -1), own.reshape(-1, own.shape[-1])


def scale(y: Tensor, own: Tensor, mean_log_degree: float, targets: Segments) -> Tensor:
    """y_1 + s y_2 + y_3 / s + own, s = log(d_i + 1) / δ from the number d_i of node i's edges, at least 1.

    Args: y [T, N K, 3 F]; own [N K, T F]; mean_log_degree: δ; targets: of the edges.
    Shapes: -> [N K, T F].
    """
    if targets.start is not None and fast(y):
        return apply(_Scale, y, own, mean_log_degree, targets)
    s = (targets.counts.clamp(min=1) + 1).to(y.dtype).log() / mean_log_degree  # [N]
    s = s.repeat_interleave(len(own) // len(s))[:, None]  # [N K, 1]
    one, two, three = y.chunk(3, 2)  # [T, N K, F] each
    return (one + s * two + three / s).transpose(0, 1).reshape(own.shape) + own


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, pre: Tensor, r: Tensor | None, towers: int, sources: Segments, targets: Segments
    ) -> tuple[Tensor, Tensor]:
        from pfgnn.kernels.triton_aggregate import aggregate_forward

        pre, r = pre.contiguous(), None if r is None else r.contiguous()
        assert targets.start is not None
        ctx.save_for_backward(pre, r)
        ctx.towers, ctx.sources, ctx.targets = towers, sources, targets
        D = pre.shape[-1] // (2 * towers + 1)
        return aggregate_forward(pre, r, towers, sources.index, targets.start), pre[..., -D:].reshape(-1, D).clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from pfgnn.kernels.triton_aggregate import aggregate_backward, sum_messages

        pre, r = ctx.saved_tensors
        g, d_own = gradients[0].contiguous(), gradients[1]
        d_pre = torch.empty_like(pre)
        messages = aggregate_backward(g, pre, r, ctx.towers, ctx.sources.index, ctx.targets.start, d_pre)
        sum_messages(messages, ctx.sources.order, ctx.sources.start, d_pre)
        d_pre.view(len(d_own), -1)[:, -d_own.shape[1] :] = d_own
        return d_pre, None if r is None else messages.sum(1), None, None, None


class _Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, own: Tensor, mean_log_degree: float, targets: Segments) -> Tensor:
        from pfgnn.kernels.triton_aggregate import scale_forward

        ctx.towers, ctx.mean_log_degree, ctx.targets = len(y), mean_log_degree, targets
        assert targets.start is not None
        return scale_forward(y.contiguous(), own.contiguous(), mean_log_degree, targets.start)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        from pfgnn.kernels.triton_aggregate import scale_backward

        g = gradients[0].contiguous()
        return scale_backward(g, ctx.towers, ctx.mean_log_degree, ctx.targets.start), g, None, None
