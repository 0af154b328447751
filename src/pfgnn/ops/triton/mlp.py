"""Triton kernels for :mod:`pfgnn.ops.mlp`. Each program handles some rows with all columns."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.numeric import relu, relu_back

ROWS = 16  # rows per program


@triton.jit
def score_forward(u, last, last_bias, out, M, P, PP, R: tl.constexpr, C: tl.constexpr):
    row, c = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R), tl.arange(0, C)
    inside = (row < M)[:, None] & (c < P)[None, :]
    hidden = relu(tl.load(u + row[:, None] * PP + c[None, :], inside, 0.0).to(tl.float32))
    v = tl.load(last + c, c < P, 0.0).to(tl.float32)
    tl.store(out + row, tl.sum(hidden * v[None, :], 1) + tl.load(last_bias).to(tl.float32), row < M)


@triton.jit
def score_back(g, u, last, du, parts, M, P, PP, R: tl.constexpr, C: tl.constexpr):
    """The gradient of u, and the part of the program's rows in the gradients of last and, after it, of its bias."""
    row, c = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R), tl.arange(0, C)
    place, wide = row[:, None] * PP + c[None, :], (row < M)[:, None] & (c < PP)[None, :]
    v = tl.load(last + c, c < P, 0.0).to(tl.float32)  # 0 in the padding, so du is 0 there too
    d = tl.load(g + row, row < M, 0.0).to(tl.float32)
    hidden = tl.load(u + place, wide, 0.0).to(tl.float32)
    tl.store(du + place, relu_back(hidden, d[:, None] * v[None, :]), wide)
    part = parts + tl.program_id(0) * (P + 1)
    tl.store(part + c, tl.sum(d[:, None] * relu(hidden), 0), c < P)
    tl.store(part + P, tl.sum(d, 0))


def score_rows(u: Tensor, last: Tensor, last_bias: Tensor) -> Tensor:
    """v · relu(u_m) + c for each row m.

    Args:
        u: Hidden layer before the relu, with padded columns, shape [M, P'].
        last: v, shape [P].
        last_bias: c, shape [1].

    Returns:
        The scores, shape [M].
    """
    out = torch.empty(len(u), dtype=torch.promote_types(u.dtype, last.dtype), device=u.device)
    with torch.cuda.device_of(u):
        score_forward[(triton.cdiv(len(u), ROWS),)](
            u, last.contiguous(), last_bias, out, len(u), len(last), u.shape[1], R=ROWS, C=_columns(u)
        )
    return out


def score_gradients(g: Tensor, u: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients from the gradient g [M] of the scores.

    Returns:
        The gradient of u, shape [M, P'].
        Parts of the gradients of last and its bias, to be summed over B, shape [B, P + 1].
    """
    du, P = torch.empty_like(u), len(last)
    parts = torch.empty(triton.cdiv(len(u), ROWS), P + 1, device=u.device)
    with torch.cuda.device_of(u):
        score_back[(len(parts),)](
            g.contiguous(), u, last.contiguous(), du, parts, len(u), P, u.shape[1], R=ROWS, C=_columns(u)
        )
    return du, parts


def _columns(u: Tensor) -> int:
    return triton.next_power_of_2(u.shape[1])
