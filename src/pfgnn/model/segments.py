"""Reductions over the nodes of each graph (or the edges of each node): first axis in, segments out."""

from typing import Any

import torch
from torch import Tensor


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.size = len(values)
        return values.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return segment_sum(gradients[0], index, ctx.size), None


def spread(values: Tensor, index: Tensor) -> Tensor:
    """The row of each one's segment: values [S, ...], index [N] -> [N, ...].

    This is ``values[index]`` with the gradient summed as :func:`segment_sum` does; torch's own would sort the index.
    """
    return _Spread.apply(values, index)  # type: ignore[no-untyped-call]


def segment_sum(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Sum of the rows of each segment: values [N, ...], index [N] -> [size, ...]."""
    flat = values.flatten(1) if values.dim() > 1 else values[:, None]  # one column axis: torch's fast path
    out = flat.new_zeros(size, flat.shape[1]).scatter_add(0, index[:, None].expand_as(flat), flat)
    return out.view(size, *values.shape[1:])


def segment_count(index: Tensor, size: int) -> Tensor:
    """Number of rows of each segment: index [N] -> [size]. Unlike bincount it waits for no device."""
    return torch.zeros(size, dtype=torch.int64, device=index.device).scatter_add(0, index, torch.ones_like(index))


def segment_mean(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Mean of the rows of each segment, 0 for an empty one: values [N, ...], index [N] -> [size, ...]."""
    count = segment_count(index, size).clamp(min=1).to(values.dtype)
    return segment_sum(values, index, size) / count.view(-1, *(1,) * (values.dim() - 1))


def segment_max(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Largest value of each segment, 0 for an empty one: values [N, ...], index [N] -> [size, ...]."""
    return _extreme(values, index, size, "amax")


def segment_min(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Smallest value of each segment, 0 for an empty one: values [N, ...], index [N] -> [size, ...]."""
    return _extreme(values, index, size, "amin")


def segment_argmax(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Row of the largest value of each (never empty) segment: values [N, K], index [N] -> [size, K]."""
    largest = spread(segment_max(values, index, size), index)  # [N, K]
    row = torch.arange(values.shape[0], device=values.device)[:, None]
    # Where all values are NaN none is the largest; any row will do, for the NaN shows up elsewhere.
    return segment_min(torch.where(values == largest, row, len(values) - 1), index, size)


def segment_log_softmax(scores: Tensor, index: Tensor, size: int) -> Tensor:
    """log(exp s_i / Σ exp s_j) over the rows j of i's segment: scores [N, ...], index [N] -> [N, ...]."""
    shifted = scores - spread(segment_max(scores.detach(), index, size), index)
    return shifted - spread(segment_sum(shifted.exp(), index, size).log(), index)


def _extreme(values: Tensor, index: Tensor, size: int, reduce: str) -> Tensor:
    flat = values.flatten(1) if values.dim() > 1 else values[:, None]
    out = flat.new_zeros(size, flat.shape[1])
    out = out.scatter_reduce(0, index[:, None].expand_as(flat), flat, reduce, include_self=False)
    return out.view(size, *values.shape[1:])
