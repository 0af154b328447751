"""The sum of relu messages on a CPU. The messages of one block of edges exist at a time."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.cpu.blocks import blocks, large
from pfgnn.ops.dispatch import apply, once
from pfgnn.ops.segments import Segments


def fits(x: Tensor, edge_attr: Tensor, own: Tensor) -> bool:
    """Whether :func:`sum_messages` can be used and is faster than the plain code."""
    return large(x) and torch.promote_types(x.dtype, edge_attr.dtype) == x.dtype == own.dtype


def sum_messages(x: Tensor, edge_attr: Tensor, own: Tensor, sources: Segments, targets: Segments) -> Tensor:
    """own · x_i + Σ_{edges (j, i)} relu(x_j + e_ij); see :func:`pfgnn.ops.messages.sum_messages`."""
    return apply(_Messages, x, edge_attr, own, sources, targets)


class _Messages(torch.autograd.Function):
    """Only x and e are saved. The backward pass computes the messages again from them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, edge_attr: Tensor, own: Tensor, sources: Segments, targets: Segments) -> Tensor:
        ctx.sources, ctx.targets = sources, targets
        ctx.save_for_backward(x, edge_attr, own)
        out = own * x
        for edges, message in _messages(x, edge_attr, sources):
            out.index_add_(0, targets.index[edges], message.relu_())
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, edge_attr, own = ctx.saved_tensors
        g = gradients[0]
        of_x, of_edges, of_own = own * g, torch.empty_like(edge_attr), torch.zeros_like(own)
        for edges, message in _messages(x, edge_attr, ctx.sources):
            of_message = g.index_select(0, ctx.targets.index[edges])
            of_message = torch.ops.aten.threshold_backward(of_message, message, 0)
            of_x.index_add_(0, ctx.sources.index[edges], of_message)
            of_edges[edges] = of_message.sum(1) if x.dim() == 3 else of_message
        for nodes in blocks(len(x), x[:1].numel()):
            of_own += (g[nodes] * x[nodes]).sum()
        return of_x, of_edges, of_own, None, None


def _messages(x: Tensor, edge_attr: Tensor, sources: Segments) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of edges, and x_j + e_ij for them."""
    for edges in blocks(len(edge_attr), x[:1].numel()):
        e = edge_attr[edges]
        yield edges, x.index_select(0, sources.index[edges]).add_(e[:, None] if x.dim() == 3 else e)
