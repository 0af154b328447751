"""PNA's four aggregators of linear messages, fused: no message is ever stored on the way forward."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.kernels.choice import fast
from pfgnn.kernels.segments import Segments, segment_max, segment_mean, segment_min, spread

FLOOR = 1e-5  # of the variance; keeps the gradient of the root finite


def aggregate(p: Tensor, r: Tensor | None, towers: int, sources: Segments, targets: Segments) -> Tensor:
    """[mean, min, max, std]_j of the messages p_j + r_ij that node i receives, tower by tower.

    A node that receives none has 0, 0, 0 and the least std.

    Args: p [N, ..., towers · D]; r [E, towers · D] or None, the same for all particles; towers; sources, targets: of
        the edges, which lie in order of their targets.
    Shapes: -> [N, ..., towers, 4 D].
    """
    if targets.start is not None and fast(p):
        return _Aggregate.apply(p, r, towers, sources, targets)  # type: ignore[no-untyped-call]
    message = spread(p, sources)  # [E, ..., towers * D]
    if r is not None:
        message = message + r.view(len(r), *(1,) * (p.dim() - 2), r.shape[1])
    mean = segment_mean(message, targets)
    variance = segment_mean((message - spread(mean, targets)).square(), targets)
    std = variance.clamp(min=FLOOR).sqrt()
    four = (mean, segment_min(message, targets), segment_max(message, targets), std)
    return torch.stack([part.unflatten(-1, (towers, -1)) for part in four], -2).flatten(-2)


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor, r: Tensor | None, towers: int, sources: Segments, targets: Segments) -> Tensor:
        from pfgnn.kernels.triton_aggregate import aggregate_forward

        p = p.contiguous()
        r = None if r is None else r.contiguous()
        ctx.save_for_backward(p, r)
        ctx.towers, ctx.sources, ctx.targets = towers, sources, targets
        assert targets.start is not None
        return aggregate_forward(p, r, towers, sources.index, targets.start)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from pfgnn.kernels.triton_aggregate import aggregate_backward
        from pfgnn.kernels.triton_segments import sum_rows

        p, r = ctx.saved_tensors
        g = gradients[0].contiguous()
        messages = aggregate_backward(g, p, r, ctx.towers, ctx.sources.index, ctx.targets.start)  # [E, ..., T D]
        dp = sum_rows(messages, ctx.sources.order, ctx.sources.start)
        dr = None if r is None else messages.view(len(r), p[0].numel() // r.shape[1], r.shape[1]).sum(1)
        return dp, dr, None, None, None
