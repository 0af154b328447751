"""Reductions over the rows of each segment, such as the nodes of a graph or the edges of a node."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.side_stream import beside, joined

# The plain code makes at most this many messages at a time, 16 MB in float32. Larger tensors do not fit into a CPU's
# caches, and from 32 MB on the C library gets their memory anew from the system each time, which doubles the time.
AT_ONCE = 2**22


@dataclass(frozen=True)
class Segments:
    """An assignment of N rows to S segments.

    Args:
        index: Segment of each row, shape [N].
        size: S.
        start: Position of the first row of each segment after sorting by segment, shape [S + 1]. None if no kernels are
            used.
        order: Row numbers sorted by segment, shape [N]. None if the rows are sorted already.
        across: If the rows are edges: the node at the other end of each edge, sorted by segment, shape [N]. None if no
            kernels are used.
    """

    index: Tensor
    size: int
    start: Tensor | None = None
    order: Tensor | None = None
    across: Tensor | None = None

    @property
    def counts(self) -> Tensor:
        """Number of rows of each segment, shape [S]."""
        return self.index.new_zeros(self.size).scatter_add(0, self.index, torch.ones_like(self.index))


def make_segments(index: Tensor, size: int, ordered: bool, other: Tensor | None = None) -> Segments:
    """Make the segments of an index. This does not wait for the device.

    Args:
        index: Segment of each row, shape [N].
        size: S, the number of segments.
        ordered: Whether the index is sorted already.
        other: If the rows are edges: the node at the other end of each edge, shape [N].
    """
    if not fast(index):
        return Segments(index, size)
    index = index.contiguous()  # kernels ignore strides
    order, index_sorted = None, index
    if not ordered:
        # A GPU sorts 8 bits at a time, so a short type takes a quarter of the time.
        short = next(dtype for dtype in (torch.int16, torch.int32, torch.int64) if size <= torch.iinfo(dtype).max)
        index_sorted, order = index.to(short).sort(stable=True)
        other = None if other is None else other.index_select(0, order)
    places = torch.arange(size + 1, dtype=index_sorted.dtype, device=index.device)
    other = None if other is None else other.contiguous()
    return Segments(index, size, torch.searchsorted(index_sorted, places), order, other)


def spread(values: Tensor, segments: Segments) -> Tensor:
    """Give each row the value of its segment: ``values[index]``, from values [S, ...] to [N, ...].

    The gradient is a :func:`segment_sum`. The gradient of torch's own indexing would sort the index.
    """
    if not (values.requires_grad and torch.is_grad_enabled()) or torch.compiler.is_compiling():
        return values.index_select(0, segments.index)
    return apply(_Spread, values, segments)


def segment_sum(values: Tensor, segments: Segments) -> Tensor:
    """Sum over the rows of each segment, from values [N, ...] to [S, ...]."""
    if _kernel(values, segments):
        return apply(_Sum, values, segments, False)
    flat = values.flatten(1) if values.dim() > 1 else values[:, None]  # torch is faster with two axes
    index = segments.index[:, None].expand_as(flat)
    return (
        flat.new_zeros(segments.size, flat.shape[1]).scatter_add(0, index, flat).view(segments.size, *values.shape[1:])
    )


def segment_mean(values: Tensor, segments: Segments) -> Tensor:
    """Mean over the rows of each segment, from values [N, ...] to [S, ...]. It is 0 for an empty segment."""
    if _kernel(values, segments):
        return apply(_Sum, values, segments, True)
    count = segments.counts.clamp(min=1).to(values.dtype)
    return segment_sum(values, segments) / count.view(-1, *(1,) * (values.dim() - 1))


def segment_max(values: Tensor, segments: Segments) -> Tensor:
    """Largest value of each segment, from values [N, ...] to [S, ...]. It is 0 for an empty segment.

    If several rows have the largest value, they share the gradient equally.
    """
    if _kernel(values, segments):
        return apply(_Max, values, segments)
    return _extreme(values, segments, "amax")


def segment_min(values: Tensor, segments: Segments) -> Tensor:
    """Smallest value of each segment, from values [N, ...] to [S, ...]. It is 0 for an empty segment."""
    if _kernel(values, segments):
        return -apply(_Max, -values, segments)
    return _extreme(values, segments, "amin")


def segment_log_softmax(scores: Tensor, segments: Segments) -> Tensor:
    """log(exp s_i / Σ_j exp s_j) over the rows j in the segment of i, from scores s [N, ...] to [N, ...]."""
    shifted = scores - spread(segment_max(scores.detach(), segments), segments)
    return shifted - spread(segment_sum(shifted.exp(), segments).log(), segments)


def sum_neighbours(x: Tensor, own: Tensor, sources: Segments, targets: Segments) -> Tensor:
    """own · x_i + Σ_{edges (j, i)} x_j for every node i.

    Args:
        x: Values of the nodes, shape [N, ...].
        own: Weight of a node's own value, shape [].
        sources: The edges that leave each node.
        targets: The edges that reach each node. Edges are sorted by their targets.

    Returns:
        The sums, shape [N, ...].
    """
    if sources.across is not None and _kernel(x, targets):
        return apply(_Neighbours, x, own, sources, targets)
    return own * x + gather_sum(x, sources, targets)


def gather_sum(x: Tensor, sources: Segments, targets: Segments) -> Tensor:
    """Σ_{edges (j, i)} x_j for every node i, in plain torch code. For the arguments see :func:`sum_neighbours`."""
    # A compiled pass makes no messages: it reads a row where it adds it.
    if torch.compiler.is_compiling() or len(sources.index) * x[:1].numel() <= AT_ONCE:
        return segment_sum(spread(x, sources), targets)
    return apply(_InBlocks, x, sources, targets)


def _extreme(values: Tensor, segments: Segments, reduce: str) -> Tensor:
    flat = values.flatten(1) if values.dim() > 1 else values[:, None]
    limits = torch.finfo(values.dtype) if values.is_floating_point() else torch.iinfo(values.dtype)
    worst = limits.min if reduce == "amax" else limits.max  # 0 could tie with a value and take a part of its gradient
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


class _InBlocks(torch.autograd.Function):
    """The sum over the edges, some of them at a time. The gradient is the same sum in the other direction."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sources: Segments, targets: Segments) -> Tensor:
        ctx.sources, ctx.targets = sources, targets
        flat = x.flatten(1) if x.dim() > 1 else x[:, None]
        out = flat.new_zeros(targets.size, flat.shape[1])
        edges = max(1, AT_ONCE // flat.shape[1])
        for source, target in zip(sources.index.split(edges), targets.index.split(edges), strict=True):
            out.scatter_add_(0, target[:, None].expand(-1, flat.shape[1]), flat.index_select(0, source))
        return out.view(targets.size, *x.shape[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return apply(_InBlocks, gradients[0], ctx.targets, ctx.sources), None, None


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
