"""Adding terms of nodes and of particles on a CPU."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.cpu.blocks import blocks
from pfgnn.ops.dispatch import apply, once
from pfgnn.ops.segments import Segments, segment_sum


def tell(y: Tensor, to_nodes: Tensor | None, to_particles: Tensor | None, nodes: Segments) -> Tensor:
    """y[n, k] + a[n] + b[g, k]; see :func:`pfgnn.ops.exchange.tell`."""
    return apply(_Tell, y, to_nodes, to_particles, nodes)


class _Tell(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, to_nodes: Tensor | None, to_particles: Tensor | None, nodes: Segments) -> Tensor:
        ctx.nodes, ctx.has = nodes, (to_nodes is not None, to_particles is not None)
        out = torch.empty_like(y)
        for block in blocks(len(y), y[:1].numel()):
            out_block = out[block].copy_(y[block])
            if to_nodes is not None:
                out_block.add_(to_nodes[block, None])
            if to_particles is not None:
                out_block.add_(to_particles.index_select(0, nodes.index[block]))
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        g, (of_nodes, of_particles) = gradients[0], ctx.has
        return g, g.sum(1) if of_nodes else None, segment_sum(g, ctx.nodes) if of_particles else None, None
