"""Triton kernel for :mod:`pfgnn.ops.dropout`. Each program handles some nodes and features of one particle."""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.hashing import fold_word

NUMBERS = 512  # entries per program, which has one warp


@triton.jit(do_not_specialize=["step", "purpose", "number", "least"])  # else Triton compiles again for 1 and 16
def dropout_rows(
    x, keys, particles, node_key, graph, out, N, K, D, step, purpose, number, least, scale,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Keep an entry if the upper 52 bits of its key, as an integer, are at least ``least``."""
    node = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    k = tl.program_id(1)
    there = node < N
    key = tl.load(keys + tl.load(graph + node, there, 0), there, 0)
    key = fold_word(fold_word(key, step), purpose)
    key = fold_word(fold_word(key, tl.load(particles + k)), number)
    key = fold_word(key, tl.load(node_key + node, there, 0))
    f = tl.program_id(2) * C + tl.arange(0, C)
    z = fold_word(key[:, None], f[None, :]).to(tl.uint64, bitcast=True)
    kept = (z >> 12).to(tl.int64, bitcast=True) >= least
    place = (node * K + k)[:, None] * D + f[None, :]
    mask = there[:, None] & (f < D)[None, :]
    v = tl.load(x + place, mask & kept, 0.0).to(tl.float32)
    tl.store(out + place, tl.where(kept, v * scale, 0.0), mask)


def drop(
    x: Tensor,
    rate: float,
    particles: Tensor,
    number: int,
    node_key: Tensor,
    graph: Tensor,
    key: Tensor,
    step: int,
    purpose: int,
) -> Tensor:
    """x / (1 - rate) where u ≥ rate, else 0; see :func:`pfgnn.ops.dropout.dropout`.

    Args:
        x: Values, shape [N, K, D] or [N, D].
        rate: Probability that an entry is dropped.
        particles: Numbers of the particles, shape [K].
        number: Number of this dropout.
        node_key: Key of each node, shape [N].
        graph: Graph of each node, shape [N].
        key: Key of each graph, shape [G].
        step: t.
        purpose: Number of the purpose.

    Returns:
        The result, same shape as x.
    """
    x, particles, node_key, graph, key = (part.contiguous() for part in (x, particles, node_key, graph, key))
    out = torch.empty_like(x)
    if not out.numel():
        return out
    N, D = len(x), x.shape[-1]
    C = min(128, triton.next_power_of_2(D))
    R = NUMBERS // C
    with torch.cuda.device_of(x):
        dropout_rows[(triton.cdiv(N, R), len(particles), triton.cdiv(D, C))](
            x, key, particles, node_key, graph, out, N, len(particles), D, step, purpose, number, _least(rate),
            1 / (1 - rate), R=R, C=C, num_warps=1,
        )  # fmt: skip
    return out


def _least(rate: float) -> int:
    """The smallest integer b with (b + 1/2) / 2^52 ≥ rate. Kernels get floats in 32 bits, so they compare integers."""
    return math.ceil(rate * 2**52 - 0.5)
