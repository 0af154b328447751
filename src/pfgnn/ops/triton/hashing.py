"""Triton kernels for :mod:`pfgnn.ops.hashing`. One kernel does about a dozen operations on 64-bit integers."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.hashing import GOLDEN, MULTIPLIERS

_GOLDEN = tl.constexpr(GOLDEN)
_FIRST = tl.constexpr(MULTIPLIERS[0][1])
_SECOND = tl.constexpr(MULTIPLIERS[1][1])


@triton.jit
def _shift_right(z, bits: tl.constexpr):
    return (z.to(tl.uint64, bitcast=True) >> bits).to(tl.int64, bitcast=True)


@triton.jit
def fold_word(key, word):
    """mix(key + GOLDEN (word + 1)), all int64."""
    z = key + _GOLDEN * (key * 0 + word + 1)  # key * 0 makes the sum 64 bits wide, even if word has 32
    z = (z ^ _shift_right(z, 30)) * _FIRST
    z = (z ^ _shift_right(z, 27)) * _SECOND
    return z ^ _shift_right(z, 31)


@triton.jit
def unit(key):
    """The upper 52 bits of the key as a float64 in (0, 1)."""
    return ((key.to(tl.uint64, bitcast=True) >> 12).to(tl.float64) + 0.5) * 2.220446049250313e-16  # 2^-52


@triton.jit
def _fold(
    key, word, out, count, columns, key_stride, key_column_stride, word_stride, word_column_stride, B: tl.constexpr
):
    place = tl.program_id(0) * B + tl.arange(0, B)
    inside = place < count
    row, column = place // columns, place % columns
    k = tl.load(key + row * key_stride + column * key_column_stride, inside, 0)
    w = tl.load(word + row * word_stride + column * word_column_stride, inside, 0)
    tl.store(out + place, fold_word(k, w), inside)


@triton.jit
def _fold_number(key, word, out, count, B: tl.constexpr):
    place = tl.program_id(0) * B + tl.arange(0, B)
    inside = place < count
    tl.store(out + place, fold_word(tl.load(key + place, inside, 0), tl.zeros([B], tl.int64) + word), inside)


def fold(key: Tensor, word: int | Tensor) -> Tensor:
    """See :func:`pfgnn.ops.hashing.fold`."""
    B = 256
    if isinstance(word, int):
        key = key.contiguous()
        out = torch.empty_like(key)
        with torch.cuda.device_of(key):
            _fold_number[(triton.cdiv(out.numel(), B),)](key, word, out, out.numel(), B=B)
        return out
    shape = torch.broadcast_shapes(key.shape, word.shape)
    out = torch.empty(shape, dtype=torch.int64, device=key.device)
    if not out.numel():
        return out
    columns = shape[-1] if shape else 1
    k, w = (_as_matrix(part, shape, columns) for part in (key, word))
    with torch.cuda.device_of(out):
        _fold[(triton.cdiv(out.numel(), B),)](k, w, out, out.numel(), columns, *k.stride(), *w.stride(), B=B)
    return out


def _as_matrix(part: Tensor, shape: torch.Size, columns: int) -> Tensor:
    """Broadcast ``part`` to the shape, then flatten all axes but the last. Two axes need no copy."""
    wide = part.expand(shape)
    return wide.reshape(-1, columns) if wide.dim() != 2 else wide
