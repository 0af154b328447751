"""Triton kernels for the forward pass of :mod:`pfgnn.ops.gin`. Each program handles R rows (n, k) with all features.

IEEE: whether products of float32 are exact. Otherwise their inputs are rounded to TF32.
"""

import triton
import triton.language as tl

from pfgnn.ops.triton.numeric import bounded, relu

LIMIT = tl.constexpr(1e16)  # as pfgnn.model.clamp.BOUND


@triton.jit
def load_norm(norm, D, column):
    """The vectors mean, root, scale and shift of a norm [4, D]."""
    there = column < D
    return (
        tl.load(norm + column, there, 0.0)[None, :],
        tl.load(norm + D + column, there, 0.0)[None, :],
        tl.load(norm + 2 * D + column, there, 0.0)[None, :],
        tl.load(norm + 3 * D + column, there, 0.0)[None, :],
    )


@triton.jit
def normed(v, mean, root, scale, shift):
    """γ (v - μ) / √(σ² + ε) + β, where v is clamped first."""
    return (bounded(v, LIMIT) - mean) * root * scale + shift


@triton.jit
def load_map(weight, rows, columns, r, c):
    """The transposed tile [c, r] of a map [rows, columns], with zeros outside."""
    return tl.load(weight + r[None, :] * columns + c[:, None], (r < rows)[None, :] & (c < columns)[:, None], 0.0)


@triton.jit
def load_vector(vector, size, place):
    """Entries of a vector as a row [1, C], in float32, with zeros outside."""
    return tl.load(vector + place, place < size, 0.0).to(tl.float32)[None, :]


@triton.jit
def product(a, b, IEEE: tl.constexpr):
    """a b, added up in float32."""
    return tl.dot(a, b, input_precision="ieee" if IEEE else "tf32")


@triton.jit
def store_moments(v, counted, parts, D, column):
    """The sum of the rows that count, and the sum of the squared differences from their mean."""
    weight = counted.to(tl.float32)
    v = tl.where(counted, bounded(v, LIMIT), 0.0)
    total = tl.sum(v, 0)
    middle = total / tl.maximum(tl.sum(weight, 0), 1.0)
    away = tl.where(counted, v - middle[None, :], 0.0)
    place = parts + tl.program_id(0) * 2 * D + column
    tl.store(place, total, column < D)
    tl.store(place + D, tl.sum(away * away, 0), column < D)


@triton.jit
def combine_moments(
    parts, real, scale, shift, running_mean, running_variance, norm, B, rows, K, D, momentum, eps,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The vectors of a norm [4, D], from the parts of B programs with ``rows`` rows each."""
    column = tl.program_id(0) * C + tl.arange(0, C)
    c, inside, count = column[None, :], column < D, (tl.load(real) * K).to(tl.float32)
    total = tl.zeros([R, C], tl.float32)
    for first in range(0, B, R):
        b = first + tl.arange(0, R)[:, None]
        total += tl.load(parts + b * 2 * D + c, (b < B) & (c < D), 0.0)
    middle = tl.sum(total, 0) / count
    squares = tl.zeros([R, C], tl.float32)
    for first in range(0, B, R):
        b = first + tl.arange(0, R)[:, None]
        mask = (b < B) & (c < D)
        n = tl.minimum(tl.maximum(count - (b * rows).to(tl.float32), 0.0), rows)
        away = tl.load(parts + b * 2 * D + c, mask, 0.0) / tl.maximum(n, 1.0) - middle[None, :]
        squares += tl.load(parts + b * 2 * D + D + c, mask, 0.0) + tl.where(mask, n * away * away, 0.0)
    spread = tl.sum(squares, 0)
    tl.store(norm + column, middle, inside)
    tl.store(norm + D + column, 1 / tl.sqrt_rn(spread / count + eps), inside)
    tl.store(norm + 2 * D + column, tl.load(scale + column, inside, 0.0).to(tl.float32), inside)
    tl.store(norm + 3 * D + column, tl.load(shift + column, inside, 0.0).to(tl.float32), inside)
    before = tl.load(running_mean + column, inside, 0.0).to(tl.float32)
    tl.store(running_mean + column, before + momentum * (middle - before), inside)
    before = tl.load(running_variance + column, inside, 0.0).to(tl.float32)
    unbiased = spread / tl.maximum(count - 1, 1.0)
    tl.store(running_variance + column, before + momentum * (unbiased - before), inside)


@triton.jit
def exchange_forward(
    x, log_weights, vertices, graph, of_mean, of_mean_bias, of_mean_last, of_mean_last_bias,
    of_mark, of_mark_bias, of_mark_last, of_mark_last_bias, told, said, N, cells, K, D, node_programs,
    IEEE: tl.constexpr, R: tl.constexpr, C: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """The terms of the exchange: rows 0 to N are MLP_A(mean particle), the others MLP_B(marked vertex).

    The first programs handle nodes, the others marks. ``told`` gets the inputs of the MLPs, ``said`` the outputs.
    """
    column = tl.arange(0, C)
    c = column[None, :]
    program = tl.program_id(0)
    of_nodes = program < node_programs
    v = tl.zeros([R, C], tl.float32)
    if of_nodes:
        row = program.to(tl.int64) * R + tl.arange(0, R)
        there = row < N
        g = tl.load(graph + row, there, 0)
        for first in range(0, K, STEP):
            for step in tl.static_range(STEP):  # several loads at once
                k = first + step
                w = tl.exp(tl.load(log_weights + g * K + k, there & (k < K), -float("inf")).to(tl.float32))
                mask = (there & (k < K))[:, None] & (c < D)
                v += w[:, None] * tl.load(x + (row * K + k)[:, None] * D + c, mask, 0.0).to(tl.float32)
    else:
        cell = (program - node_programs).to(tl.int64) * R + tl.arange(0, R)
        there = cell < cells
        at = tl.load(vertices + cell, there, 0) * K + cell % K
        v = tl.load(x + at[:, None] * D + c, there[:, None] & (c < D), 0.0).to(tl.float32)
        row = N + cell
    mask = there[:, None] & (c < D)
    place = row[:, None] * D + c
    v = v.to(told.dtype.element_ty)
    tl.store(told + place, v, mask)
    first_map = of_mean if of_nodes else of_mark
    first_bias = of_mean_bias if of_nodes else of_mark_bias
    last_map = of_mean_last if of_nodes else of_mark_last
    last_bias = of_mean_last_bias if of_nodes else of_mark_last_bias
    u = product(v, load_map(first_map, D, D, column, column), IEEE) + load_vector(first_bias, D, column)
    u = relu(u).to(v.dtype)
    out = product(u, load_map(last_map, D, D, column, column), IEEE) + load_vector(last_bias, D, column)
    tl.store(said + place, out, mask)


@triton.jit
def update_forward(
    z, first, first_bias, last, last_bias, said, graph, real, out, parts, M, N, K, D,
    MEAN: tl.constexpr, MARK: tl.constexpr, MOMENTS: tl.constexpr, IEEE: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """y = MLP(z) plus the terms of the exchange. MOMENTS: whether the moments of y are stored."""
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.arange(0, C)
    c, there = column[None, :], row < M
    mask = there[:, None] & (c < D)
    place = row.to(tl.int64)[:, None] * D + c
    v = tl.load(z + place, mask, 0.0)
    u = product(v, load_map(first, D, D, column, column), IEEE) + load_vector(first_bias, D, column)
    u = relu(u).to(v.dtype)
    y = product(u, load_map(last, D, D, column, column), IEEE) + load_vector(last_bias, D, column)
    if MEAN or MARK:
        node = row // K
    if MEAN:
        y += tl.load(said + node[:, None] * D + c, mask, 0.0).to(tl.float32)
    if MARK:
        cell = N + tl.load(graph + node, there, 0) * K + row % K
        y += tl.load(said + cell[:, None] * D + c, mask, 0.0).to(tl.float32)
    y = y.to(out.dtype.element_ty)
    tl.store(out + place, y, mask)
    if MOMENTS:
        store_moments(y.to(tl.float32), mask & (row < tl.load(real) * K)[:, None], parts, D, column)


@triton.jit
def feed_forward(
    x, y, y_norm, hidden, hidden_bias, last, last_bias, real, out, parts, M, K, D, P,
    MOMENTS: tl.constexpr, IEEE: tl.constexpr, R: tl.constexpr, C: tl.constexpr, H: tl.constexpr,
):  # fmt: skip
    """x' + MLP(x'), with x' = x + relu(norm(y)). The hidden layer is computed H features at a time."""
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.arange(0, C)
    c = column[None, :]
    mask = (row < M)[:, None] & (c < D)
    place = row.to(tl.int64)[:, None] * D + c
    mean, root, scale, shift = load_norm(y_norm, D, column)
    total = relu(normed(tl.load(y + place, mask, 0.0).to(tl.float32), mean, root, scale, shift))
    total = tl.where(mask, total + tl.load(x + place, mask, 0.0).to(tl.float32), 0.0)
    v = total.to(out.dtype.element_ty)
    total += load_vector(last_bias, D, column)
    for first in range(0, P, H):
        p = first + tl.arange(0, H)
        u = product(v, load_map(hidden, P, D, p, column), IEEE) + load_vector(hidden_bias, P, p)
        total += product(relu(u).to(v.dtype), load_map(last, D, P, column, p), IEEE)
    total = total.to(out.dtype.element_ty)
    tl.store(out + place, total, mask)
    if MOMENTS:
        store_moments(total.to(tl.float32), mask & (row < tl.load(real) * K)[:, None], parts, D, column)
