"""Drawing a vertex for each graph and particle, with the log probability of the draw."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.hashing import fold, gumbel, uniform
from pfgnn.ops.segments import Segments, segment_log_softmax, segment_max, segment_min, spread
from pfgnn.ops.weights import NoiseKey


def draw_vertex(
    scores: Tensor, noise_key: NoiseKey, particles: Tensor, number: int, node_key: Tensor, nodes: Segments
) -> tuple[Tensor, Tensor]:
    """Draw v ~ softmax of the scores over the nodes of each graph, by the Gumbel-max trick: argmax_v log P(v) + g_v.

    Args:
        scores: Scores of the nodes, shape [N, K], or [N, 1] while all particles are equal.
        noise_key: Key of the random numbers.
        particles: Numbers of the particles, int64, shape [K].
        number: Number of this draw, if a step has several.
        node_key: Key of each node's own random number, int64, shape [N].
        nodes: The nodes of each graph. No graph is empty.

    Returns:
        v, node numbers in the batch, shape [G, K].
        log P(v), shape [G, K].
    """
    if nodes.start is not None and fast(scores):
        return apply(_Draw, scores, noise_key, particles, number, node_key, nodes)
    log_p = segment_log_softmax(scores, nodes)  # [N, K] or [N, 1]
    keys = noise_key.keys_of(particles, number)[nodes.index]  # [N, K]
    g = gumbel(uniform(fold(keys, node_key[:, None])))  # [N, K]; in float64 there are no ties
    v = _argmax(log_p.detach() + g, nodes)
    return v, log_p.expand(-1, v.shape[1]).gather(0, v)


def _argmax(values: Tensor, nodes: Segments) -> Tensor:
    """The row of the largest value of each segment, from values [N, K] to [S, K]. No segment is empty.

    If a value is NaN, so is the largest one, and the result is the segment's first row.
    """
    largest = spread(segment_max(values, nodes), nodes)  # [N, K]
    row = torch.arange(values.shape[0], device=values.device)[:, None]
    return segment_min(torch.where((values == largest) | largest.isnan(), row, values.shape[0] - 1), nodes)


class _Draw(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, noise_key: NoiseKey, *rest: Any) -> tuple[Tensor, Tensor]:
        from pfgnn.ops.triton.draw import draw

        particles, number, node_key, nodes = rest
        scores, particles, node_key = (of.contiguous() for of in (scores, particles, node_key))
        v, log_p, log_total = draw(scores, particles, number, node_key, nodes.start, *noise_key.contiguous())
        ctx.save_for_backward(scores, v, log_total)
        ctx.nodes = nodes
        ctx.mark_non_differentiable(v)
        ctx.set_materialize_grads(False)  # so that no zeros are allocated as the gradient of v
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
