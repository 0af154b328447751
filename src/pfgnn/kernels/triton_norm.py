"""Triton kernels for :mod:`pfgnn.kernels.norm`: one program has all nodes of a graph, one particle, some features."""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _place(start, K, D, R: tl.constexpr, C: tl.constexpr):
    graph, particle = tl.program_id(0) // K, tl.program_id(0) % K
    begin, end = tl.load(start + graph), tl.load(start + graph + 1)
    column = tl.program_id(1) * C + tl.arange(0, C)
    return particle, begin, end, column, column < D, tl.maximum(end - begin, 1).to(tl.float32)


@triton.jit
def norm_forward(
    h, x, scale, shift, mean_scale, out, means, roots, start, K, D, stride, eps, limit,
    RESIDUAL: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    particle, begin, end, column, inside, n = _place(start, K, D, R, C)
    total = tl.zeros([C], tl.float32)
    for first in range(begin, end, R):
        row = first + tl.arange(0, R)
        mask = (row < end)[:, None] & inside[None, :]
        v = tl.load(h + (row[:, None] * K + particle) * stride + column[None, :], mask, 0.0).to(tl.float32)
        total += tl.sum(tl.clamp(v, -limit, limit), 0)
    mean = total / n
    middle = tl.load(mean_scale + column, inside, 0.0).to(tl.float32) * mean
    squares = tl.zeros([C], tl.float32)
    for first in range(begin, end, R):
        row = first + tl.arange(0, R)
        mask = (row < end)[:, None] & inside[None, :]
        v = tl.load(h + (row[:, None] * K + particle) * stride + column[None, :], mask, 0.0).to(tl.float32)
        c = tl.where(mask, tl.clamp(v, -limit, limit) - middle[None, :], 0.0)
        squares += tl.sum(c * c, 0)
    root = 1 / tl.sqrt_rn(squares / n + eps)
    factor = tl.load(scale + column, inside, 0.0).to(tl.float32) * root
    offset = tl.load(shift + column, inside, 0.0).to(tl.float32)
    for first in range(begin, end, R):
        row = first + tl.arange(0, R)
        mask = (row < end)[:, None] & inside[None, :]
        m = row[:, None] * K + particle
        place = m * D + column[None, :]
        v = tl.load(h + m * stride + column[None, :], mask, 0.0).to(tl.float32)
        y = tl.maximum((tl.clamp(v, -limit, limit) - middle[None, :]) * factor[None, :] + offset[None, :], 0.0)
        if RESIDUAL:
            y += tl.load(x + place, mask, 0.0).to(tl.float32)
        tl.store(out + place, y, mask)
    tl.store(means + tl.program_id(0) * D + column, mean, inside)
    tl.store(roots + tl.program_id(0) * D + column, root, inside)


@triton.jit
def norm_back(
    g, h, scale, shift, mean_scale, means, roots, dh, parts, start, K, D, stride, limit,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    particle, begin, end, column, inside, n = _place(start, K, D, R, C)
    own = tl.program_id(0) * D + column
    mean, root = tl.load(means + own, inside, 0.0), tl.load(roots + own, inside, 0.0)
    alpha = tl.load(mean_scale + column, inside, 0.0).to(tl.float32)
    gamma = tl.load(scale + column, inside, 0.0).to(tl.float32)
    beta = tl.load(shift + column, inside, 0.0).to(tl.float32)
    middle, factor = alpha * mean, gamma * root
    sum_dz, sum_dz_c, sum_c = tl.zeros([C], tl.float32), tl.zeros([C], tl.float32), tl.zeros([C], tl.float32)
    for first in range(begin, end, R):
        row = first + tl.arange(0, R)
        mask = (row < end)[:, None] & inside[None, :]
        m = row[:, None] * K + particle
        place = m * D + column[None, :]
        v = tl.load(h + m * stride + column[None, :], mask, 0.0).to(tl.float32)
        c = tl.where(mask, tl.clamp(v, -limit, limit) - middle[None, :], 0.0)
        dz = tl.load(g + place, mask, 0.0).to(tl.float32)
        dz = tl.where(c * factor[None, :] + beta[None, :] > 0, dz, 0.0)
        sum_dz += tl.sum(dz, 0)
        sum_dz_c += tl.sum(dz * c, 0)
        sum_c += tl.sum(c, 0)
    # z = γ c r + β, r = (mean c² + ε)^(-1/2): dc = γ r dz - c γ r³ / n Σ dz c, and h moves c by 1 - α / n.
    pull = factor * root * root * sum_dz_c / n
    sum_dc = factor * sum_dz - pull * sum_c
    for first in range(begin, end, R):
        row = first + tl.arange(0, R)
        mask = (row < end)[:, None] & inside[None, :]
        m = row[:, None] * K + particle
        place = m * D + column[None, :]
        v = tl.load(h + m * stride + column[None, :], mask, 0.0).to(tl.float32)
        c = tl.clamp(v, -limit, limit) - middle[None, :]
        dz = tl.load(g + place, mask, 0.0).to(tl.float32)
        dz = tl.where(c * factor[None, :] + beta[None, :] > 0, dz, 0.0)
        dc = factor[None, :] * dz - pull[None, :] * c
        d = tl.where(tl.abs(v) <= limit, dc - (alpha * sum_dc / n)[None, :], 0.0)
        tl.store(dh + place, d, mask)
    part = parts + tl.program_id(0) * 3 * D + column
    tl.store(part, root * sum_dz_c, inside)
    tl.store(part + D, sum_dz, inside)
    tl.store(part + 2 * D, -mean * sum_dc, inside)


def activate(
    h: Tensor,
    x: Tensor | None,
    scale: Tensor,
    shift: Tensor,
    mean_scale: Tensor,
    eps: float,
    limit: float,
    start: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """x + relu(norm(h)), and for the way back μ and 1 / √(mean c² + ε), [G K, D] each.

    All contiguous, but for h, whose rows may be apart.
    """
    K, D, grid, blocks = _cut(h, start)
    out = h.new_empty(h.shape, dtype=h.dtype if x is None else torch.promote_types(h.dtype, x.dtype))
    means = torch.empty(grid[0], D, device=h.device)
    roots = torch.empty_like(means)
    with torch.cuda.device_of(h):
        norm_forward[grid](
            h, x, scale, shift, mean_scale, out, means, roots, start, K, D, h.view(-1, D).stride(0), eps, limit,
            x is not None, **blocks,
        )  # fmt: skip
    return out, means, roots


def activate_backward(
    g: Tensor,
    limit: float,
    start: Tensor,
    h: Tensor,
    scale: Tensor,
    shift: Tensor,
    mean_scale: Tensor,
    means: Tensor,
    roots: Tensor,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Gradients of h, γ, β and α from that of the output, g."""
    K, D, grid, blocks = _cut(h, start)
    dh = h.new_empty(h.shape)
    parts = torch.empty(grid[0], 3, D, device=h.device)
    apart = h.view(-1, D).stride(0)
    with torch.cuda.device_of(h):
        norm_back[grid](g, h, scale, shift, mean_scale, means, roots, dh, parts, start, K, D, apart, limit, **blocks)
    return dh, parts.sum(0).to(scale.dtype).unbind()


def _cut(h: Tensor, start: Tensor) -> tuple[int, int, tuple[int, int], dict[str, int]]:
    D, graphs = h.shape[-1], len(start) - 1
    K = h.shape[1:].numel() // D
    C = min(32, triton.next_power_of_2(D))
    R = max(2, min(32, triton.next_power_of_2(-(-len(h) // graphs))))
    return K, D, (graphs * K, triton.cdiv(D, C)), {"R": R, "C": C}
