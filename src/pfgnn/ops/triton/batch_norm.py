"""Triton kernels for :mod:`pfgnn.ops.batch_norm`. Each program handles a tile of rows and columns."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.batch_norm import BatchNorming
from pfgnn.ops.triton.numeric import bounded, relu, relu_back
from pfgnn.ops.triton.rows import sum_columns

ROWS, COLUMNS = 64, 32  # size of the tile of a program


@triton.jit
def _place(R: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)[:, None]
    return row, tl.program_id(1) * C + tl.arange(0, C)


@triton.jit
def batch_parts(h, real, parts, K, D, stride, limit, R: tl.constexpr, C: tl.constexpr):
    """The sum of a program's rows without padding, and the sum of their squared differences from their own mean."""
    row, column = _place(R, C)
    there = (row < tl.load(real) * K) & (column < D)[None, :]
    v = bounded(tl.load(h + row * stride + column[None, :], there, 0.0).to(tl.float32), limit)
    total = tl.sum(v, 0)
    v = tl.where(there, v - total[None, :] / tl.maximum(tl.sum(there.to(tl.float32), 0), 1.0)[None, :], 0.0)
    place = parts + tl.program_id(0) * 2 * D + column
    tl.store(place, total, column < D)
    tl.store(place + D, tl.sum(v * v, 0), column < D)


@triton.jit
def batch_moments(
    parts, real, mean, root, running_mean, running_variance, B, K, D, momentum, eps, R: tl.constexpr, C: tl.constexpr
):
    """μ and 1 / √(σ² + ε) of the batch, from the parts of R rows each. Updates the running mean and variance."""
    column = tl.program_id(0) * C + tl.arange(0, C)
    c, inside, count = column[None, :], column < D, (tl.load(real) * K).to(tl.float32)
    zero = tl.zeros([R, C], tl.float32)
    total, squares = zero, zero
    for first in range(0, B, R):
        b = first + tl.arange(0, R)[:, None]
        total += tl.load(parts + b * 2 * D + c, (b < B) & (c < D), 0.0)
    middle = tl.sum(total, 0) / count
    for first in range(0, B, R):
        b = first + tl.arange(0, R)[:, None]
        mask = (b < B) & (c < D)
        n = tl.minimum(tl.maximum(count - (b * R).to(tl.float32), 0.0), R)
        away = tl.load(parts + b * 2 * D + c, mask, 0.0) / tl.maximum(n, 1.0) - middle[None, :]
        squares += tl.load(parts + b * 2 * D + D + c, mask, 0.0) + tl.where(mask, n * away * away, 0.0)
    spread = tl.sum(squares, 0)
    tl.store(mean + column, middle, inside)
    tl.store(root + column, 1 / tl.sqrt_rn(spread / count + eps), inside)
    before = tl.load(running_mean + column, inside, 0.0).to(tl.float32)
    tl.store(running_mean + column, before + momentum * (middle - before), inside)
    before = tl.load(running_variance + column, inside, 0.0).to(tl.float32)
    unbiased = spread / tl.maximum(count - 1, 1.0)
    tl.store(running_variance + column, before + momentum * (unbiased - before), inside)


@triton.jit
def _normal(h, row, column, mask, mean, root, scale, shift, D, stride, limit):
    """Three results: h before clamping, n = (h - μ) / √(σ² + ε) with the clamped h, and γ n + β."""
    inside = column < D
    v = tl.load(h + row * stride + column[None, :], mask, 0.0).to(tl.float32)
    middle, factor = tl.load(mean + column, inside, 0.0), tl.load(root + column, inside, 0.0)
    n = (bounded(v, limit) - middle[None, :]) * factor[None, :]
    gamma, beta = tl.load(scale + column, inside, 0.0), tl.load(shift + column, inside, 0.0)
    return v, n, n * gamma[None, :].to(tl.float32) + beta[None, :].to(tl.float32)


@triton.jit
def batch_forward(
    h, x, mean, root, scale, shift, out, M, D, stride, limit,
    RESIDUAL: tl.constexpr, RELU: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    row, column = _place(R, C)
    mask = (row < M) & (column < D)[None, :]
    _, _, y = _normal(h, row, column, mask, mean, root, scale, shift, D, stride, limit)
    if RELU:
        y = relu(y)
    if RESIDUAL:
        y += tl.load(x + row * D + column[None, :], mask, 0.0).to(tl.float32)
    tl.store(out + row * D + column[None, :], y, mask)


@triton.jit
def batch_back_parts(
    g, h, mean, root, scale, shift, parts, M, D, stride, limit, RELU: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):
    """The part of a program's rows in the gradients of γ and β."""
    row, column = _place(R, C)
    mask = (row < M) & (column < D)[None, :]
    _, n, y = _normal(h, row, column, mask, mean, root, scale, shift, D, stride, limit)
    dz = tl.load(g + row * D + column[None, :], mask, 0.0).to(tl.float32)
    if RELU:
        dz = relu_back(y, dz)
    place = parts + tl.program_id(0) * 2 * D + column
    tl.store(place, tl.sum(dz * n, 0), column < D)
    tl.store(place + D, tl.sum(dz, 0), column < D)


@triton.jit
def batch_back(
    g, h, mean, root, scale, shift, total, real, dh, M, K, D, stride, limit,
    TRAINING: tl.constexpr, RELU: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    row, column = _place(R, C)
    inside = column < D
    mask = (row < M) & inside[None, :]
    v, n, y = _normal(h, row, column, mask, mean, root, scale, shift, D, stride, limit)
    d = tl.load(g + row * D + column[None, :], mask, 0.0).to(tl.float32)
    if RELU:
        d = relu_back(y, d)
    if TRAINING:  # μ and σ² depend on all rows except the padding
        count = tl.load(real) * K
        of_n, of_all = tl.load(total + column, inside, 0.0), tl.load(total + D + column, inside, 0.0)
        d -= tl.where(row < count, (of_all[None, :] + n * of_n[None, :]) / count.to(tl.float32), 0.0)
    factor = tl.load(root + column, inside, 0.0) * tl.load(scale + column, inside, 0.0).to(tl.float32)
    tl.store(dh + row * D + column[None, :], tl.where(tl.abs(v) <= limit, d * factor[None, :], 0.0), mask)


def moments(h: Tensor, norming: BatchNorming, real: Tensor) -> tuple[Tensor, Tensor]:
    """μ and 1 / √(σ² + ε). In training they are those of the batch, and the running ones are updated.

    Args:
        h: Embeddings, shape [N, ..., D]. There may be a gap between its rows in memory.
        norming: Parameters of the norm.
        real: Number of nodes without padding, shape [].

    Returns:
        μ, shape [D].
        1 / √(σ² + ε), shape [D].
    """
    if not norming.training:
        return norming.mean.float(), torch.rsqrt(norming.variance.float() + norming.eps)
    _, D, K, grid = _cut(h)
    parts = torch.empty(grid[0], 2, D, device=h.device)
    mean, root = torch.empty(2, D, device=h.device).unbind()
    with torch.cuda.device_of(h):
        batch_parts[grid](h, real, parts, K, D, _stride(h), norming.limit, R=ROWS, C=COLUMNS)
        batch_moments[(grid[1],)](
            parts, real, mean, root, norming.mean, norming.variance, grid[0], K, D, norming.momentum, norming.eps,
            R=ROWS, C=COLUMNS,
        )  # fmt: skip
    return mean, root


def activate(
    h: Tensor,
    x: Tensor | None,
    norming: BatchNorming,
    mean: Tensor,
    root: Tensor,
    relu: bool = True,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """x + relu(γ (h - μ) / √(σ² + ε) + β), without x if it is None, and without the relu if ``relu`` is False.

    ``dtype`` is that of the norm's result. By default it is that to which torch promotes h and γ.
    """
    M, D, _, grid = _cut(h)
    dtype = torch.promote_types(h.dtype, norming.scale.dtype) if dtype is None else dtype
    out = h.new_empty(h.shape, dtype=dtype if x is None else torch.promote_types(dtype, x.dtype))
    with torch.cuda.device_of(h):
        batch_forward[grid](
            h, h if x is None else x, mean, root, norming.scale, norming.shift, out, M, D, _stride(h), norming.limit,
            RESIDUAL=x is not None, RELU=relu, R=ROWS, C=COLUMNS,
        )  # fmt: skip
    return out


def activate_backward(
    g: Tensor, h: Tensor, norming: BatchNorming, mean: Tensor, root: Tensor, real: Tensor, relu: bool = True
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The gradient of h, and those of γ and β, from the gradient g of the output."""
    M, D, K, grid = _cut(h)
    dh = h.new_empty(h.shape)
    parts = torch.empty(grid[0], 2, D, device=h.device)
    shared = (g, h, mean, root, norming.scale, norming.shift)
    with torch.cuda.device_of(h):
        batch_back_parts[grid](*shared, parts, M, D, _stride(h), norming.limit, RELU=relu, R=ROWS, C=COLUMNS)
        total = sum_columns(parts.flatten(1)).view(2, D)
        batch_back[grid](
            *shared, total, real, dh, M, K, D, _stride(h), norming.limit,
            TRAINING=norming.training, RELU=relu, R=ROWS, C=COLUMNS,
        )  # fmt: skip
    return dh, total.to(norming.scale.dtype).unbind()


def _cut(h: Tensor) -> tuple[int, int, int, tuple[int, int]]:
    """The number of rows M, of columns D, of rows per node K, and the grid."""
    M, D = h.shape[:-1].numel(), h.shape[-1]
    return M, D, M // len(h), (triton.cdiv(M, ROWS), triton.cdiv(D, COLUMNS))


def _stride(h: Tensor) -> int:
    return h.view(-1, h.shape[-1]).stride(0)
