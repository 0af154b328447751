"""Rows padded with zeros to multiples of ALIGN entries, which matrix products are fast at."""

import torch
import triton
import triton.language as tl
from torch import Tensor

ALIGN = 8  # the length of a padded row is a multiple of this
BLOCK = 512  # entries of a map that a program handles at once
NUMBERS = 2048  # entries of rows that a program handles at once
ROWS, COLUMNS = 64, 32  # tile of a program in a sum over rows
PARTS = 256  # largest number of programs that share such a sum
TALL = 1024  # up to this many rows, one program sums them


@triton.jit
def some_rows(columns, R: tl.constexpr, C: tl.constexpr):
    """The R rows of a program [R, 1], the columns [1, C], and which of the columns exist. C covers all columns."""
    c = tl.arange(0, C)[None, :]
    return tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)[:, None], c, c < columns


@triton.jit
def pad_rows(x, out, M, D, columns, stride, ONE: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    row, c, real = some_rows(columns, R, C)
    v = tl.load(x + row * stride + c, (row < M) & (c < D), 0.0).to(tl.float32)
    if ONE:
        v = tl.where(c == D, 1.0, v)
    tl.store(out + row * columns + c, v, (row < M) & real)


@triton.jit
def pad_blocks(
    x, bias, out,
    BLOCKS: tl.constexpr, ROWS: tl.constexpr, C: tl.constexpr, RP: tl.constexpr, CP: tl.constexpr,
    BIAS: tl.constexpr, GROUP: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Pad blocks x [BLOCKS, ROWS, C] to [BLOCKS, RP, CP].

    Of each GROUP of blocks, the last BIAS ones have a bias, which is written to column C.
    """
    for first in range(tl.program_id(1) * B, BLOCKS * RP * CP, tl.num_programs(1) * B):
        place = first + tl.arange(0, B)
        block, r, c = place // (RP * CP), place // CP % RP, place % CP
        inside = (place < BLOCKS * RP * CP) & (r < ROWS)
        v = tl.load(x + (block * ROWS + r) * C + c, inside & (c < C), 0.0).to(tl.float32)
        if BIAS > 0:
            part = block % GROUP - (GROUP - BIAS)
            there = bias + (block // GROUP * BIAS + part) * ROWS + r
            v += tl.load(there, inside & (c == C) & (part >= 0), 0.0).to(tl.float32)
        tl.store(out + place, v, place < BLOCKS * RP * CP)


@triton.jit
def cut_blocks(
    parts, out, bias, S,
    BLOCKS: tl.constexpr, ROWS: tl.constexpr, C: tl.constexpr, RP: tl.constexpr, CP: tl.constexpr,
    BIAS: tl.constexpr, GROUP: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """The reverse of pad_blocks, applied to the sum of the S shares in parts [BLOCKS / GROUP, S, GROUP, RP, CP]."""
    columns: tl.constexpr = C + 1 if BIAS > 0 else C
    for first in range(tl.program_id(1) * B, BLOCKS * ROWS * columns, tl.num_programs(1) * B):
        place = first + tl.arange(0, B)
        inside = place < BLOCKS * ROWS * columns
        block, r, c = place // (ROWS * columns), place // columns % ROWS, place % columns
        there = parts + ((block // GROUP * S * GROUP + block % GROUP) * RP + r) * CP + c
        total = tl.zeros([B], tl.float32)
        for share in range(S):
            total += tl.load(there + share * (GROUP * RP * CP), inside, 0.0).to(tl.float32)
        tl.store(out + (block * ROWS + r) * C + c, total, inside & (c < C))
        if BIAS > 0:
            part = block % GROUP - (GROUP - BIAS)
            tl.store(bias + (block // GROUP * BIAS + part) * ROWS + r, total, inside & (c == C) & (part >= 0))


@triton.jit
def pad_map(x, bias, out, R: tl.constexpr, C: tl.constexpr, RP: tl.constexpr, CP: tl.constexpr, B: tl.constexpr):
    pad_blocks(x, bias, out, 1, R, C, RP, CP, 1, 1, B)


@triton.jit
def cut_map(x, out, bias, R: tl.constexpr, C: tl.constexpr, RP: tl.constexpr, CP: tl.constexpr, B: tl.constexpr):
    cut_blocks(x, out, bias, 1, 1, R, C, RP, CP, 1, 1, B)


@triton.jit
def sum_share(x, out, M, D, stride, share, R: tl.constexpr, C: tl.constexpr):
    """The sum of ``share`` rows of x, starting at row ``share`` times the number of the program."""
    first, column = tl.program_id(0).to(tl.int64) * share, tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros([R, C], tl.float32)
    for start in range(0, share, R):
        own = start + tl.arange(0, R)[:, None]
        inside = (own < share) & (first + own < M) & (column < D)[None, :]
        total += tl.load(x + (first + own) * stride + column[None, :], inside, 0.0).to(tl.float32)
    tl.store(out + tl.program_id(0) * D + column, tl.sum(total, 0), column < D)


def padded(size: int) -> int:
    """The size, rounded up to a multiple of ALIGN."""
    return -(-size // ALIGN) * ALIGN


def widen(x: Tensor, dtype: torch.dtype, one: bool = False) -> Tensor:
    """Pad rows x [M, C] with zeros to [M, C'], where C' = padded(C).

    With ``one``, a column of ones is added first, so C' = padded(C + 1).
    """
    M, C = x.shape
    columns = padded(C + one)
    if columns == C and x.dtype == dtype:
        return x.contiguous()
    x = x if x.stride(1) == 1 else x.contiguous()
    out = x.new_empty(M, columns, dtype=dtype)
    with torch.cuda.device_of(x):
        grid, tile = rows_grid(M, columns)
        pad_rows[grid](x, out, M, C, columns, x.stride(0), ONE=one, **tile)
    return out


def rows_grid(rows: int, columns: int) -> tuple[tuple[int], dict[str, int]]:
    """The grid and the tile of a kernel that uses :func:`some_rows`."""
    C = triton.next_power_of_2(columns)
    R = max(1, NUMBERS // C)
    return (triton.cdiv(rows, R),), {"R": R, "C": C}


def narrow(rows: Tensor, shape: torch.Size) -> Tensor:
    """View padded rows [M, C'] as a tensor of the given shape [..., C], without a copy."""
    return rows.view(*shape[:-1], rows.shape[1])[..., : shape[-1]]


def widen_map(weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Tensor:
    """Pad a linear map for rows to which :func:`widen` added a column of ones.

    Args:
        weight: Shape [P, C].
        bias: Shape [P]. It becomes column C.
        dtype: Dtype of the result.

    Returns:
        The padded map, shape [padded(P), padded(C + 1)].
    """
    out = weight.new_empty(padded(len(weight)), padded(weight.shape[1] + 1), dtype=dtype)
    with torch.cuda.device_of(out):
        pad_map[_grid(out)](weight.contiguous(), bias.contiguous(), out, *weight.shape, *out.shape, B=BLOCK)
    return out


def cut_map_gradient(gradient: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of weight and bias, from the gradient of the result of :func:`widen_map`."""
    d_weight, d_bias = weight.new_empty(weight.shape), bias.new_empty(bias.shape)
    with torch.cuda.device_of(gradient):
        cut_map[_grid(weight)](gradient, d_weight, d_bias, *weight.shape, *gradient.shape, B=BLOCK)
    return d_weight, d_bias


def sum_columns(x: Tensor) -> Tensor:
    """Σ_m x[m] in float32, from x [M, D] to [D]. For long, narrow matrices it is faster than torch's sum."""
    x = x if x.stride(1) == 1 else x.contiguous()
    M, D = x.shape
    out = torch.empty(D, device=x.device)
    if M <= TALL:
        R, C = tall_tile(M)
        with torch.cuda.device_of(x):
            sum_share[(1, triton.cdiv(D, C))](x, out, M, D, x.stride(0), M, R=R, C=C, num_warps=8)
        return out
    share = max(ROWS, triton.cdiv(M, PARTS))
    count, blocks = max(1, triton.cdiv(M, share)), triton.cdiv(D, COLUMNS)
    parts = out if count == 1 else torch.empty(count, D, device=x.device)
    with torch.cuda.device_of(x):
        sum_share[(count, blocks)](x, parts, M, D, x.stride(0), share, R=ROWS, C=COLUMNS)
        if count > 1:
            sum_share[(1, blocks)](parts, out, count, D, D, count, R=ROWS, C=COLUMNS)
    return out


def tall_tile(rows: int) -> tuple[int, int]:
    """Rows and columns of a tile that holds all of some rows, or TALL of them."""
    return min(TALL, max(16, triton.next_power_of_2(rows))), 8


def _grid(like: Tensor) -> tuple[int, int]:
    return 1, triton.cdiv(like.numel(), BLOCK)


def apart(h: Tensor) -> Tensor:
    """h [N, ..., D] with a constant distance between its rows in memory, which may be more than D.

    It is copied only if needed.
    """
    flat = h.reshape(-1, h.shape[-1])  # a view if the distance is constant already
    return (flat if flat.stride(1) == 1 else flat.contiguous()).view(h.shape)
