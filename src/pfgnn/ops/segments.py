"""Reductions over the rows of each segment (nodes of a graph, edges of a node): first axis in, segments out."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.side_stream import beside, joined


@dataclass(frozen=True)
class Segments:
    """Which of S segments each of N rows belongs to.

    Args:
        index: the segment of each row, [N].
        size: S.
        start: where each segment's rows begin once they are sorted, [S + 1]; None where no kernel reads it.
        order: the rows sorted by segment, [N]; None if they are.
        across: of edges sorted so, the node at the other end, [N]; None where no kernel reads it.
    """

    index: Tensor
    size: int
    start: Tensor | None = None
    order: Tensor | None = None
    across: Tensor | None = None

    @property
    def counts(self) -> Tensor:
        """Number of rows of each segment: [S]."""
        return self.index.new_zeros(self.size).scatter_add(0, self.index, torch.ones_like(self.index))


def make_segments(index: Tensor, size: int, ordered: bool, other: Tensor | None = None) -> Segments:
    """Segments of an index [N]; ``ordered`` says that it is sorted already. Nothing waits for the device.

    Of edges, ``other`` are the nodes at the other end, [N].
    """
    if not fast(index):
        return Segments(index, size)
    index = index.contiguous()  # kernels know no strides
    order, index_sorted = None, index
    if not ordered:
        index_sorted, order = index.sort(stable=True)
        other = None if other is None else other.index_select(0, order)
    places = torch.arange(size + 1, device=index.device)
    other = None if other is None else other.contiguous()
    return Segments(index, size, torch.searchsorted(index_sorted, places), order, other)


def spread(values: Tensor, segments: Segments) -> Tensor:
    """The row of each one's segment: values [S, ...] -> [N, ...].

    This is ``values[index]`` with the gradient summed as :func:`segment_sum` does; torch's own would sort the index.
    """
    return apply(_Spread, values, segments)


def segment_sum(values: Tensor, segments: Segments) -> Tensor:
    """Sum of the rows of each segment: values [N, ...] -> [S, ...]."""
    if _kernel(values, segments):
        return apply(_Sum, values, segments, False)
    flat = values.flatten(1) if values.dim() > 1 else values[:, None]  # one column axis: torch's fast path
    index = segments.index[:, None].expand_as(flat)
    return (
        flat.new_zeros(segments.size, flat.shape[1]).scatter_add(0, index, flat).view(segments.size, *values.shape[1:])
    )


def segment_mean(values: Tensor, segments: Segments) -> Tensor:
    """Mean of the rows of each segment, 0 for an empty one: values [N, ...] -> [S, ...]."""
    if _kernel(values, segments):
        return apply(_Sum, values, segments, True)
    count = segments.counts.clamp(min=1).to(values.dtype)
    return segment_sum(values, segments) / count.view(-1, *(1,) * (values.dim() - 1))


def segment_max(values: Tensor, segments: Segments) -> Tensor:
    """Largest value of each segment, 0 for an empty one: values [N, ...] -> [S, ...].

    Where several rows have it, they share the gradient.
    """
    if _kernel(values, segments):
        return apply(_Max, values, segments)
    return _extreme(values, segments, "amax")


def segment_min(values: Tensor, segments: Segments) -> Tensor:
    """Smallest value of each segment, 0 for an empty one: values [N, ...] -> [S, ...]."""
    if _kernel(values, segments):
        return -apply(_Max, -values, segments)
    return _extreme(values, segments, "amin")


def segment_log_softmax(scores: Tensor, segments: Segments) -> Tensor:
    """log(exp s_i / Σ exp s_j) over the rows j of i's segment: scores [N, ...] -> [N, ...]."""
    shifted = scores - spread(segment_max(scores.detach(), segments), segments)
    return shifted - spread(segment_sum(shifted.exp(), segments).log(), segments)


def sum_neighbours(x: Tensor, own: Tensor, sources: Segments, targets: Segments) -> Tensor:
    """own · x_i + Σ_{edges (j, i)} x_j for every node i: x [N, ...], own [] -> [N, ...].

    The edges lie in order of their targets.
    """
    if sources.across is not None and _kernel(x, targets):
        return apply(_Neighbours, x, own, sources, targets)
    return own * x + segment_sum(spread(x, sources), targets)


def _extreme(values: Tensor, segments: Segments, reduce: str) -> Tensor:
    flat = values.flatten(1) if values.dim() > 1 else values[:, None]
    limits = torch.finfo(values.dtype) if values.is_floating_point() else torch.iinfo(values.dtype)
    worst = limits.min if reduce == "amax" else limits.max  # not 0, which could tie and take a part of the gradient
    out = flat.new_full((segments.size, flat.shape[1]), worst)
    out = out.scatter_reduce(0, segments.index[:, None].expand_as(flat), flat, reduce, include_self=False)
    return out.where((segments.counts > 0)[:, None], 0).view(segments.size, *values.shape[1:])


def _kernel(values: Tensor, segments: Segments) -> bool:
    return segments.start is not None and values.is_floating_point() and fast(values)


def _rows_sum(
    values: Tensor, segments: Segments, rows: Tensor | None, mean: bool = False, own: Tensor | None = None
) -> Tensor:
    from pfgnn.ops.triton.segments import sum_rows

    assert segments.start is not None
    return sum_rows(values, rows, segments.start, mean, own)


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, segments: Segments, mean: bool) -> Tensor:
        ctx.segments, ctx.mean = segments, mean
        return _rows_sum(values, segments, segments.order, mean)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        from pfgnn.ops.triton.segments import spread_rows

        if not ctx.mean:
            return gradients[0].index_select(0, ctx.segments.index), None, None
        return spread_rows(gradients[0].contiguous(), ctx.segments.index, ctx.segments.start), None, None


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, segments: Segments) -> Tensor:
        ctx.segments = segments
        return values.index_select(0, segments.index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return segment_sum(gradients[0], ctx.segments), None


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, segments: Segments) -> Tensor:
        from pfgnn.ops.triton.segments import max_rows

        assert segments.start is not None
        out = max_rows(values, segments.order, segments.start)
        ctx.segments = segments
        ctx.save_for_backward(values, out)
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        values, out = ctx.saved_tensors
        index = ctx.segments.index
        holds = (values == out.index_select(0, index)).to(values.dtype)
        share = gradients[0] / _rows_sum(holds, ctx.segments, ctx.segments.order).clamp(min=1)
        return holds * share.index_select(0, index), None


class _Neighbours(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, own: Tensor, sources: Segments, targets: Segments) -> Tensor:
        ctx.sources = sources
        x = x.contiguous()
        ctx.save_for_backward(x, own)
        return _rows_sum(x, targets, sources.index, own=own)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        x, own = ctx.saved_tensors
        g = gradients[0].contiguous()
        with joined(g):
            with beside(g):
                d_own = torch.dot(g.flatten(), x.flatten()).to(own.dtype) if ctx.needs_input_grad[1] else None
            dx = _rows_sum(g, ctx.sources, ctx.sources.across, own=own)
        return dx, d_own, None, None
