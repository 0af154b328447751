"""The sum of relu messages over edges with features, as in GINE. The kernels do not store the messages."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.cpu import messages as cpu
from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.segments import Segments, segment_sum, spread
from pfgnn.ops.side_stream import beside, joined


def sum_messages(x: Tensor, edge_attr: Tensor, own: Tensor, sources: Segments, targets: Segments) -> Tensor:
    """own · x_i + Σ_{edges (j, i)} relu(x_j + e_ij) for every node i.

    x and edge_attr may have different dtypes, as under autocast. The result has the dtype that torch promotes them to:
    float32 with bfloat16 gives float32. The kernels always add in float32. Each gradient has the dtype of its input.

    Args:
        x: Embeddings, shape [N, D] or [N, K, D].
        edge_attr: e, shape [E, D]. It is the same for all K particles.
        own: Weight of a node's own embedding, shape [].
        sources: The edges that leave each node.
        targets: The edges that reach each node. Edges are sorted by their targets.

    Returns:
        The sums, same shape as x.
    """
    if sources.across is not None and targets.start is not None and fast(x) and fast(edge_attr):
        return apply(_Messages, x, edge_attr, own, sources, targets)
    if cpu.fits(x, edge_attr, own):
        return cpu.sum_messages(x, edge_attr, own, sources, targets)
    e = edge_attr[:, None] if x.dim() == 3 else edge_attr  # [E, 1, D] or [E, D]
    return own * x + segment_sum((spread(x, sources) + e).relu(), targets)


class _Messages(torch.autograd.Function):
    """Only x and e are saved. The backward pass computes the messages again from them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, edge_attr: Tensor, own: Tensor, sources: Segments, targets: Segments) -> Tensor:
        from pfgnn.ops.triton.messages import messages

        assert targets.start is not None
        x, edge_attr = x.contiguous(), edge_attr.contiguous()
        ctx.save_for_backward(x, edge_attr, own)
        ctx.sources, ctx.targets = sources, targets
        return messages(x, edge_attr, own, sources.index, targets.start)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from pfgnn.ops.triton.messages import messages_backward, messages_edge_backward

        x, edge_attr, own = ctx.saved_tensors
        sources, g = ctx.sources, gradients[0].contiguous()
        of_x, of_edges, of_own, *_ = ctx.needs_input_grad
        dx = d_edges = d_own = None
        with joined(g):
            if of_edges:
                with beside(g):
                    d_edges = messages_edge_backward(g, x, edge_attr, sources.index, ctx.targets.index)
            if of_x or of_own:
                dx, parts = messages_backward(g, x, edge_attr, own, sources.order, sources.across, sources.start)
                d_own = parts.sum().to(own.dtype) if of_own else None
        return dx if of_x else None, d_edges, d_own, None, None
