"""Triton kernels for :mod:`pfgnn.ops.segments`. Each program takes the sum or the maximum of a segment's rows."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.numeric import largest, maximum, relu, relu_back

PROGRAMS = 1024  # number of programs that keep a GPU busy
LONG, PART = 1024, 128  # segments of so many rows are reduced in parts of so many rows, if there are few programs


@triton.jit
def _reduce_rows(
    values, rows, start, own, out, columns,
    PICKED: tl.constexpr, MAX: tl.constexpr, MEAN: tl.constexpr, RELU: tl.constexpr, OWN: tl.constexpr,
    PARTIAL: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """PARTIAL: whether the segments are parts of others. Then the maximum of an empty one is not 0."""
    segment = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < columns
    begin, end = tl.load(start + segment), tl.load(start + segment + 1)
    empty = -float("inf") if MAX else 0.0
    tiles = tl.full([R, C], empty, tl.float32)  # they become one row only at the end, as that takes long
    for first in range(begin, end, R):  # R rows at a time, so that their loads overlap
        place = first + tl.arange(0, R)
        row = tl.load(rows + place, place < end, 0) if PICKED else place
        mask = (place < end)[:, None] & inside[None, :]
        tile = tl.load(values + row[:, None] * columns + column[None, :], mask, empty).to(tl.float32)
        if RELU:
            tile = relu(tile)
        tiles = maximum(tiles, tile) if MAX else tiles + tile
    total = largest(tiles) if MAX else tl.sum(tiles, 0)
    if MAX and not PARTIAL:
        total = tl.where(end > begin, total, 0.0)
    if OWN:
        total += tl.load(own) * tl.load(values + segment * columns + column, inside, 0.0).to(tl.float32)
    if MEAN:
        total /= tl.maximum(end - begin, 1).to(tl.float32)
    tl.store(out + segment * columns + column, total, inside)


@triton.jit
def _spread_rows(values, index, start, positive, out, columns, WHERE: tl.constexpr, C: tl.constexpr):
    """For each row, the value of its segment divided by the segment's number of rows.

    If WHERE is set, the result is 0 where ``positive`` is not positive.
    """
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * C + tl.arange(0, C)
    segment = tl.load(index + row)
    count = (tl.load(start + segment + 1) - tl.load(start + segment)).to(tl.float32)
    value = tl.load(values + segment * columns + column, column < columns, 0.0).to(tl.float32)
    if WHERE:
        value = relu_back(tl.load(positive + row * columns + column, column < columns, 0.0), value)
    tl.store(out + row * columns + column, value / count, column < columns)


def sum_rows(
    values: Tensor,
    rows: Tensor | None,
    start: Tensor,
    mean: bool = False,
    own: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """out_s = Σ_p values[rows_p], with the sum over the places p of segment s.

    Args:
        values: Values, shape [M, ...].
        rows: Row of values at each place, shape [N]. None if place p is row p.
        start: First place of each segment, shape [S + 1].
        mean: Whether to divide by the number of places.
        own: If given, add own · values[s] to the sum, shape [].
        relu: Whether to sum relu(values).

    Returns:
        The sums, shape [S, ...].
    """
    return _reduce(values, rows, start, False, mean, own, relu)


def max_rows(values: Tensor, rows: Tensor | None, start: Tensor) -> Tensor:
    """As :func:`sum_rows`, with the largest value instead of the sum. It is 0 for an empty segment."""
    return _reduce(values, rows, start, True, False, None, False)


def spread_rows(values: Tensor, index: Tensor, start: Tensor, positive: Tensor | None = None) -> Tensor:
    """out_n = values[index_n] / number of rows of that segment.

    Args:
        values: Values of the segments, shape [S, ...].
        index: Segment of each row, shape [N].
        start: First row of each segment, shape [S + 1].
        positive: If given, the result is 0 where this is not positive, shape [N, ...].

    Returns:
        The result, shape [N, ...].
    """
    out = values.new_empty(len(index), *values.shape[1:])
    if not out.numel():
        return out
    columns = out[:1].numel()
    C = min(256, triton.next_power_of_2(columns))
    with torch.cuda.device_of(values):
        _spread_rows[(len(index), triton.cdiv(columns, C))](
            values, index, start, positive, out, columns, WHERE=positive is not None, C=C
        )
    return out


def _reduce(
    values: Tensor, rows: Tensor | None, start: Tensor, largest: bool, mean: bool, own: Tensor | None, relu: bool
) -> Tensor:
    values = values.contiguous()
    size, places = len(start) - 1, len(values) if rows is None else len(rows)
    columns = values[:1].numel()
    if not size * columns:
        return values.new_empty(size, *values.shape[1:])
    parts = min(places // size // PART, -(-PROGRAMS // (size * _cut(size, columns)[1])))
    if places < LONG * size or parts < 2 or own is not None:
        return _launch(values, rows, start, values.dtype, largest, mean, own, relu, False)
    # One program for each segment would leave most of the GPU idle, as with one large graph.
    length, number = start.diff(), torch.arange(parts, device=start.device)
    inner = torch.cat([(start[:-1, None] + length[:, None] * number // parts).flatten(), start[-1:]])
    found = _launch(values, rows, inner, torch.float32, largest, False, None, relu, True)
    outer = torch.arange(0, size * parts + 1, parts, device=start.device)
    out = _launch(found, None, outer, torch.float32, largest, False, None, False, False)
    length = length.view(-1, *(1,) * (values.dim() - 1))
    if mean:
        out = out / length.clamp(min=1)
    return (torch.where(length > 0, out, 0.0) if largest else out).to(values.dtype)


def _launch(
    values: Tensor,
    rows: Tensor | None,
    start: Tensor,
    dtype: torch.dtype,
    largest: bool,
    mean: bool,
    own: Tensor | None,
    relu: bool,
    partial: bool,
) -> Tensor:
    size, places, columns = len(start) - 1, len(values) if rows is None else len(rows), values[:1].numel()
    out = values.new_empty(size, *values.shape[1:], dtype=dtype)
    C, blocks = _cut(size, columns)
    R = min(16, triton.next_power_of_2(-(-places // size)))
    with torch.cuda.device_of(values):
        _reduce_rows[(size, blocks)](
            values, rows, start, own, out, columns,
            rows is not None, largest, mean, relu, own is not None, partial, R=max(1, min(R, 1024 // C)), C=C,
        )  # fmt: skip
    return out


def _cut(size: int, columns: int) -> tuple[int, int]:
    """The number of columns of a program, and into how many such blocks all columns are cut."""
    C = min(1024, triton.next_power_of_2(columns))
    while C > 64 and size * triton.cdiv(columns, C) < PROGRAMS:
        C //= 2
    return C, triton.cdiv(columns, C)
