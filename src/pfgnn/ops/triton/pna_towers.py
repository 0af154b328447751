"""Triton kernels that split the rows of :mod:`pfgnn.ops.pna` into towers and join them, and products over the rows.

Each of the T towers has F = D / T of the columns. M' is the number of rows M rounded up to whole shares; see
:func:`share_of`. F° is F + 1 padded; see :mod:`pfgnn.ops.triton.rows`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.rows import padded, rows_grid, some_rows


@triton.jit
def split_rows(x, out, M, MP, T: tl.constexpr, F: tl.constexpr, FO: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    m, c, real = some_rows(T * FO, R, C)
    t, f = c // FO, c % FO
    v = tl.load(x + m * (T * F) + t * F + f, (m < M) & real & (f < F), 0.0).to(tl.float32)
    tl.store(out + (t * MP + m) * FO + f, tl.where((m < M) & (f == F), 1.0, v), (m < MP) & real)


@triton.jit
def join_rows(
    dX, residual, out, M, MP, ADD: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FO: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    m, c, real = some_rows(T * F, R, C)
    mask = (m < M) & real
    v = tl.load(dX + (c // F * MP + m) * FO + c % F, mask, 0.0).to(tl.float32)
    if ADD:
        v += tl.load(residual + m * (T * F) + c, mask, 0.0).to(tl.float32)
    tl.store(out + m * (T * F) + c, v, mask)


def share_of(rows: int) -> int:
    """The number of rows in a share. A sum over all rows is computed per share in parallel, then over the shares."""
    return 512 if rows > 4096 else 128


def padded_rows(rows: int) -> int:
    """M', the number of rows rounded up to whole shares."""
    return -(-rows // share_of(rows)) * share_of(rows)


def split_towers(x: Tensor, T: int, dtype: torch.dtype) -> Tensor:
    """Split x [M, D] into towers, and add a column of ones to each. The result is [T, M', F°]."""
    M, F = len(x), x.shape[1] // T
    out = x.new_empty(T, padded_rows(M), padded(F + 1), dtype=dtype)
    with torch.cuda.device_of(x):
        grid, tile = rows_grid(out.shape[1], T * out.shape[2])
        split_rows[grid](x.contiguous(), out, M, out.shape[1], T=T, F=F, FO=out.shape[2], **tile)
    return out


def join_towers(dX: Tensor, shape: torch.Size, residual: Tensor | None) -> Tensor:
    """The reverse of :func:`split_towers`, plus a residual.

    Args:
        dX: Rows of the towers, shape [T, M', F°].
        shape: Shape of the result, [..., D].
        residual: Residual of this shape, or None.
    """
    (T, rows, columns), D = dX.shape, shape[-1]
    out = dX.new_empty(shape, dtype=dX.dtype if residual is None else residual.dtype)
    grid, tile = rows_grid(out.numel() // D, D)
    constants = {"ADD": residual is not None, "T": T, "F": D // T, "FO": columns}
    with torch.cuda.device_of(dX):
        join_rows[grid](dX, residual, out, out.numel() // D, rows, **constants, **tile)
    return out


def share_products(x: Tensor, y: Tensor) -> Tensor:
    """Σ_m x_m y_mᵀ over the rows m of each share, for each tower.

    Args:
        x: Rows, shape [T, M', P].
        y: Rows, shape [T, M', Q].

    Returns:
        The sums of the S shares, shape [T, S, P, Q].
    """
    T, rows, P = x.shape
    size = share_of(rows)
    return torch.bmm(x.view(-1, size, P).mT, y.view(-1, size, y.shape[2])).view(T, -1, P, y.shape[2])
