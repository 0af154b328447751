"""Drawing a vertex for each graph and particle, and the draw's log-probability."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.hashing import fold, gumbel, uniform
from pfgnn.ops.segments import Segments, segment_log_softmax, segment_max, segment_min, spread
from pfgnn.ops.weigh import NoiseKey


def draw_vertex(
    scores: Tensor, noise_key: NoiseKey, particles: Tensor, number: int, node_key: Tensor, nodes: Segments
) -> tuple[Tensor, Tensor]:
    """v ~ softmax of the scores over the nodes of each graph, by Gumbel's trick: argmax_v log P(v) + g_v.

    Args:
        scores: [N, K], or [N, 1] while all particles are equal.
        noise_key: of the noise, which sits on the nodes.
        particles: their numbers, int64 [K].
        number: of this draw, where a step has several.
        node_key: of each node's own noise, int64 [N].
        nodes: the graph of each node; no graph is empty.
    Returns: v, node numbers in the batch [G, K], and log P(v) [G, K].
    """
    if nodes.start is not None and fast(scores):
        return apply(_Draw, scores, noise_key, particles, number, node_key, nodes)
    log_p = segment_log_softmax(scores, nodes)  # [N, K] or [N, 1]
    keys = noise_key.keys_of(particles, number)[nodes.index]  # [N, K]
    g = gumbel(uniform(fold(keys, node_key[:, None])))  # [N, K], float64: no ties
    v = _argmax(log_p.detach() + g, nodes)
    return v, log_p.expand(-1, v.shape[1]).gather(0, v)


def _argmax(values: Tensor, nodes: Segments) -> Tensor:
    """Row of the largest value of each (never empty) segment: values [N, K] -> [S, K]."""
    largest = spread(segment_max(values, nodes), nodes)  # [N, K]
    row = torch.arange(len(values), device=values.device)[:, None]
    # Where all values are NaN none is the largest; any row will do, for the NaN shows up elsewhere.
    return segment_min(torch.where(values == largest, row, len(values) - 1), nodes)


class _Draw(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, noise_key: NoiseKey, *rest: Any) -> tuple[Tensor, Tensor]:
        from pfgnn.ops.triton.draw import draw

        particles, number, node_key, nodes = rest
        scores = scores.contiguous()
        v, log_p, log_total = draw(scores, particles, number, node_key.contiguous(), nodes.start, *noise_key)
        ctx.save_for_backward(scores, v, log_total)
        ctx.nodes = nodes
        ctx.mark_non_differentiable(v)
        ctx.set_materialize_grads(False)  # no zeros for v
        return v, log_p

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        from pfgnn.ops.triton.draw import draw_backward

        if gradients[1] is None:
            return None, None, None, None, None, None
        scores, v, log_total = ctx.saved_tensors
        d = draw_backward(gradients[1].contiguous(), scores, v, log_total, ctx.nodes.index)
        return d, None, None, None, None, None
