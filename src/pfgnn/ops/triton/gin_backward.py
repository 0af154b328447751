"""Triton kernels for the backward pass of :mod:`pfgnn.ops.gin`. Each program handles R rows (n, k) with all features.

Gradients of vectors, such as biases, are sums over all rows. Each program writes its part of them.
"""

import triton
import triton.language as tl

from pfgnn.ops.triton.gin import LIMIT, load_map, load_norm, load_vector, normed, product
from pfgnn.ops.triton.numeric import bounded, relu, relu_back


@triton.jit
def store_part(values, parts, place, size, columns):
    """The sum of all rows of ``values`` [R, C], as entries ``place`` [C] of this program's part."""
    tl.store(parts + tl.program_id(0) * columns + place, tl.sum(values, 0), place < size)


@triton.jit
def load_product(weight, rows, columns, r, c):
    """The tile [r, c] of a map [rows, columns], with zeros outside."""
    return tl.load(weight + r[:, None] * columns + c[None, :], (r < rows)[:, None] & (c < columns)[None, :], 0.0)


@triton.jit
def exchange_sum(
    g, d_told, log_weights, vertices, graph, h, norm, out, parts, M, N, K, D,
    MEAN: tl.constexpr, MARK: tl.constexpr, NORM: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Add the gradients that reach x through the exchange to its other ones, g.

    NORM: whether x = norm(h). Then the parts [2 D] are Σ d n and Σ d, where d is the whole gradient, and n is h after
    clamping and normalising, before scale and shift.
    """
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.arange(0, C)
    c, there = column[None, :], row < M
    mask = there[:, None] & (c < D)
    place = row.to(tl.int64)[:, None] * D + c
    d = tl.load(g + place, mask, 0.0).to(tl.float32)
    if MEAN or MARK:
        node = row // K
        cell = tl.load(graph + node, there, 0) * K + row % K  # int64, as the numbers of graphs
        if MEAN:
            w = tl.exp(tl.load(log_weights + cell, there, 0.0).to(tl.float32))
            d += w[:, None] * tl.load(d_told + node[:, None] * D + c, mask, 0.0).to(tl.float32)
        if MARK:
            marked = (tl.load(vertices + cell, there, -1) == node)[:, None] & mask
            d += tl.load(d_told + (N + cell)[:, None] * D + c, marked, 0.0).to(tl.float32)
        low = d.to(out.dtype.element_ty)
        tl.store(out + place, low, mask)
        d = low.to(tl.float32)
    if NORM:
        mean, root, _, _ = load_norm(norm, D, column)
        n = (bounded(tl.load(h + place, mask, 0.0).to(tl.float32), LIMIT) - mean) * root
        store_part(tl.where(mask, d * n, 0.0), parts, column, D, 2 * D)
        store_part(d, parts + D, column, D, 2 * D)


@triton.jit
def norm_back(d, v, sums, row, real_rows, mean, root, scale, D, column, TRAINING: tl.constexpr):
    """The gradient of v, from the gradient d of norm(v) and the sums [2, D] of d n and d over all rows."""
    if TRAINING:  # mean and variance depend on all rows except the padding
        n = (bounded(v, LIMIT) - mean) * root
        of_n, of_all = load_vector(sums, D, column), load_vector(sums + D, D, column)
        d -= tl.where((row < real_rows)[:, None], (of_all + n * of_n) / real_rows.to(tl.float32), 0.0)
    return tl.where(tl.abs(v) <= LIMIT, d * root * scale, 0.0)


@triton.jit
def feed_forward_back(
    g, x, y, y_norm, out, out_norm, sums, hidden, hidden_bias, last, real,
    dx_out, d_out, x_out, u_out, du_out, parts, M, K, D, P,
    TRAINING: tl.constexpr, IEEE: tl.constexpr, R: tl.constexpr, C: tl.constexpr, H: tl.constexpr,
):  # fmt: skip
    """From the gradient g of norm(out), with out = x' + MLP(x') and x' = x + relu(norm(y)).

    Stores the gradient of x', that of out, x', the hidden layer u and the gradient of u before its relu. The parts
    [3 D + P] are the gradient of the last bias, Σ d n and Σ d for the norm of y, and the gradient of the hidden bias.
    """
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.arange(0, C)
    c = column[None, :]
    mask = (row < M)[:, None] & (c < D)
    place = row.to(tl.int64)[:, None] * D + c
    real_rows = tl.load(real) * K
    columns = 3 * D + P
    dtype = d_out.dtype.element_ty
    mean, root, scale, shift = load_norm(out_norm, D, column)
    v = tl.load(out + place, mask, 0.0).to(tl.float32)
    d = tl.load(g + place, mask, 0.0).to(tl.float32)
    d = norm_back(d, v, sums, row, real_rows, mean, root, scale, D, column, TRAINING)
    d = tl.where(mask, d, 0.0)
    store_part(d, parts, column, D, columns)
    low = d.to(dtype)
    tl.store(d_out + place, low, mask)
    mean, root, scale, shift = load_norm(y_norm, D, column)
    after = normed(tl.load(y + place, mask, 0.0).to(tl.float32), mean, root, scale, shift)
    x_after = tl.where(mask, tl.load(x + place, mask, 0.0).to(tl.float32) + relu(after), 0.0).to(dtype)
    tl.store(x_out + place, x_after, mask)
    for first in range(0, P, H):
        p = first + tl.arange(0, H)
        of_p = (row < M)[:, None] & (p < P)[None, :]
        place_p = row.to(tl.int64)[:, None] * P + p[None, :]
        u = product(x_after, load_map(hidden, P, D, p, column), IEEE) + load_vector(hidden_bias, P, p)
        tl.store(u_out + place_p, relu(u), of_p)
        du = tl.where(of_p, relu_back(u, product(low, load_product(last, D, P, column, p), IEEE)), 0.0)
        store_part(du, parts + 3 * D, p, P, columns)
        lower = du.to(dtype)
        tl.store(du_out + place_p, lower, of_p)
        d += product(lower, load_product(hidden, P, D, p, column), IEEE)
    low = d.to(dtype)
    tl.store(dx_out + place, low, mask)
    # y is read again, because it would not fit into the registers during the loop.
    v = tl.load(y + place, mask, 0.0).to(tl.float32)
    d = tl.where(mask, relu_back(normed(v, mean, root, scale, shift), low.to(tl.float32)), 0.0)
    store_part(d * (bounded(v, LIMIT) - mean) * root, parts + D, column, D, columns)
    store_part(d, parts + 2 * D, column, D, columns)


@triton.jit
def update_back(
    dx, y, y_norm, sums, z, first, first_bias, last, real, dy_out, u_out, du_out, dz_out, parts, M, K, D,
    TRAINING: tl.constexpr, IEEE: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """From the gradient dx of relu(norm(y)), with y = MLP(z) + other terms.

    Stores the gradient of y, the hidden layer u, the gradient of u before its relu, and that of z. The parts [2 D] are
    the gradients of the last and the first bias.
    """
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.arange(0, C)
    mask = (row < M)[:, None] & (column < D)[None, :]
    place = row.to(tl.int64)[:, None] * D + column[None, :]
    mean, root, scale, shift = load_norm(y_norm, D, column)
    v = tl.load(y + place, mask, 0.0).to(tl.float32)
    d = tl.load(dx + place, mask, 0.0).to(tl.float32)
    d = relu_back(normed(v, mean, root, scale, shift), d)
    d = norm_back(d, v, sums, row, tl.load(real) * K, mean, root, scale, D, column, TRAINING)
    d = tl.where(mask, d, 0.0)
    store_part(d, parts, column, D, 2 * D)
    low = d.to(dy_out.dtype.element_ty)
    tl.store(dy_out + place, low, mask)
    x = tl.load(z + place, mask, 0.0)
    u = product(x, load_map(first, D, D, column, column), IEEE) + load_vector(first_bias, D, column)
    du = tl.where(mask, relu_back(u, product(low, load_product(last, D, D, column, column), IEEE)), 0.0)
    store_part(du, parts + D, column, D, 2 * D)
    tl.store(u_out + place, relu(u), mask)
    low = du.to(low.dtype)
    tl.store(du_out + place, low, mask)
    tl.store(dz_out + place, product(low, load_product(first, D, D, column, column), IEEE), mask)


@triton.jit
def exchange_back(
    dy, graph_start, told, of_mean, of_mean_bias, of_mean_last, of_mark, of_mark_bias, of_mark_last,
    d_out, u_out, du_out, dx_out, parts, N, cells, K, D, node_programs,
    IEEE: tl.constexpr, R: tl.constexpr, C: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """From the gradient of y, the gradients of the exchange's terms; see :func:`pfgnn.ops.triton.gin.exchange_forward`.

    Stores for each row the gradient of its term, the hidden layer u, the gradient of u before its relu, and that of the
    row of ``told``. The parts [2 D] are the gradients of the last and the first bias.
    """
    column = tl.arange(0, C)
    c = column[None, :]
    program = tl.program_id(0)
    of_nodes = program < node_programs
    d = tl.zeros([R, C], tl.float32)
    if of_nodes:  # the sum over the particles
        row = program.to(tl.int64) * R + tl.arange(0, R)
        there = row < N
        for first in range(0, K, STEP):
            for step in tl.static_range(STEP):
                k = first + step
                mask = (there & (k < K))[:, None] & (c < D)
                d += tl.load(dy + (row * K + k)[:, None] * D + c, mask, 0.0).to(tl.float32)
    else:  # the sum over the nodes of the graph
        cell = (program - node_programs).to(tl.int64) * R + tl.arange(0, R)
        there = cell < cells
        begin = tl.load(graph_start + cell // K, there, 0)
        end = tl.load(graph_start + cell // K + 1, there, 0)
        for away in range(0, tl.max(end - begin), STEP):
            for step in tl.static_range(STEP):
                node = begin + away + step
                mask = (node < end)[:, None] & (c < D)
                d += tl.load(dy + (node * K + cell % K)[:, None] * D + c, mask, 0.0).to(tl.float32)
        row = N + cell
    mask = there[:, None] & (c < D)
    place = row.to(tl.int64)[:, None] * D + c
    first_map = of_mean if of_nodes else of_mark
    first_bias = of_mean_bias if of_nodes else of_mark_bias
    last_map = of_mean_last if of_nodes else of_mark_last
    store_part(d, parts, column, D, 2 * D)
    low = d.to(d_out.dtype.element_ty)
    tl.store(d_out + place, low, mask)
    x = tl.load(told + place, mask, 0.0)
    u = product(x, load_map(first_map, D, D, column, column), IEEE) + load_vector(first_bias, D, column)
    du = tl.where(mask, relu_back(u, product(low, load_product(last_map, D, D, column, column), IEEE)), 0.0)
    store_part(du, parts + D, column, D, 2 * D)
    tl.store(u_out + place, relu(u), mask)
    low = du.to(low.dtype)
    tl.store(du_out + place, low, mask)
    tl.store(dx_out + place, product(low, load_product(first_map, D, D, column, column), IEEE), mask)
