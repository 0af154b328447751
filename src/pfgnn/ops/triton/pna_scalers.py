"""Triton kernels that apply the degree scalers of :mod:`pfgnn.ops.pna`. Each program handles some rows.

The scaler of node i is s_i = log(d_i + 1) / δ, where d_i is its in-degree, at least 1.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.rows import padded, rows_grid, some_rows


@triton.jit
def _scaler(start, node, mask, delta):
    degree = tl.load(start + node + 1, mask, 1) - tl.load(start + node, mask, 0)
    return tl.log(tl.maximum(degree, 1).to(tl.float32) + 1.0) / delta


@triton.jit
def scale_forward(
    y, pre, start, z, M, MP, delta,
    K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FP: tl.constexpr, ZP: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    m, c, real = some_rows(ZP, R, C)
    inside = (m < M) & (c < T * F)
    s = _scaler(start, m // K, m < M, delta)
    there = (c // F * MP + m) * (3 * FP) + c % F
    one, two = tl.load(y + there, inside, 0.0).to(tl.float32), tl.load(y + there + FP, inside, 0.0).to(tl.float32)
    three = tl.load(y + there + 2 * FP, inside, 0.0).to(tl.float32)
    own = tl.load(pre + there + 2 * FP, inside, 0.0).to(tl.float32)
    tl.store(z + m * ZP + c, tl.where(c == T * F, 1.0, one + s * two + three / s + own), (m < M) & real)


@triton.jit
def scale_back(
    dz, start, dy, d_pre, M, MP, delta,
    K: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FP: tl.constexpr, ZP: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    m, c, real = some_rows(T * FP, R, C)
    t, f, mask = c // FP, c % FP, (m < MP) & real
    s = _scaler(start, m // K, m < M, delta)
    g = tl.load(dz + m * ZP + t * F + f, mask & (m < M) & (f < F), 0.0).to(tl.float32)
    there = (t * MP + m) * (3 * FP) + f
    tl.store(dy + there, g, mask)
    tl.store(dy + there + FP, g * s, mask)
    tl.store(dy + there + 2 * FP, g / s, mask)
    tl.store(d_pre + there + 2 * FP, g, mask)
    past = mask & (m >= M)  # padding rows of d_pre that no other kernel writes
    tl.store(d_pre + there, tl.zeros([R, C], tl.float32), past)
    tl.store(d_pre + there + FP, tl.zeros([R, C], tl.float32), past)


def scale(y: Tensor, pre: Tensor, M: int, K: int, D: int, delta: float, start: Tensor) -> Tensor:
    """z = y_1 + s y_2 + y_3 / s + own, followed by a column of ones.

    Args:
        y: The aggregates mapped by U, for each of the three scalers, shape [T, M', 3 F'].
        pre: p, q and own of each row, shape [T, M', 3 F'].
        M: Number of rows without padding, N K.
        K: Number of particles.
        D: Width.
        delta: δ.
        start: First edge of each target node, shape [N + 1].

    Returns:
        z, shape [M, D°].
    """
    T, rows, three = y.shape
    z = y.new_empty(M, padded(D + 1))
    constants = {"K": K, "T": T, "F": D // T, "FP": three // 3, "ZP": z.shape[1]}
    grid, tile = rows_grid(M, z.shape[1])
    with torch.cuda.device_of(y):
        scale_forward[grid](y, pre, start, z, M, rows, delta, **constants, **tile)
    return z


def scale_gradients(dz: Tensor, d_pre: Tensor, K: int, D: int, delta: float, start: Tensor) -> Tensor:
    """The gradient of y, shape [T, M', 3 F'], from the gradient dz [M, D°] of z.

    The gradient of own is written into d_pre.
    """
    T, rows, three = d_pre.shape
    dy = torch.empty_like(d_pre)
    constants = {"K": K, "T": T, "F": D // T, "FP": three // 3, "ZP": dz.shape[1]}
    grid, tile = rows_grid(rows, T * (three // 3))
    with torch.cuda.device_of(dz):
        scale_back[grid](dz, start, dy, d_pre, len(dz), rows, delta, **constants, **tile)
    return dy
