"""Triton kernels for :mod:`pfgnn.ops.particles`. Each program handles all particles of one node, and some features."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.numeric import bounded


@triton.jit
def _place(graph, D, C: tl.constexpr):
    node = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * C + tl.arange(0, C)
    return node, tl.load(graph + node), column, column < D


@triton.jit
def select_forward(source, ancestors, graph, out, K, D, C: tl.constexpr):
    node, of, column, inside = _place(graph, D, C)
    own = node * K * D + column
    for k in range(K):
        tl.store(out + own + k * D, tl.load(source + own + tl.load(ancestors + of * K + k) * D, inside, 0.0), inside)


@triton.jit
def select_back(source, ancestors, graph, out, K, D, C: tl.constexpr):
    node, of, column, inside = _place(graph, D, C)
    own = node * K * D + column
    for k in range(K):
        tl.store(out + own + k * D, tl.zeros([C], tl.float32), inside)
    for k in range(K):  # copies of one ancestor add up; no other program writes to this node
        there = out + own + tl.load(ancestors + of * K + k) * D
        tl.store(there, tl.load(there, inside, 0.0) + tl.load(source + own + k * D, inside, 0.0), inside)


@triton.jit
def average_forward(H, log_weights, graph, out, K, D, R: tl.constexpr, C: tl.constexpr):
    node, of, column, inside = _place(graph, D, C)
    total = tl.zeros([C], tl.float32)
    for first in range(0, K, R):  # R particles at a time, so that their loads overlap
        k = first + tl.arange(0, R)
        w = tl.where(k < K, tl.exp(tl.load(log_weights + of * K + k, k < K, 0.0).to(tl.float32)), 0.0)
        cells = (k < K)[:, None] & inside[None, :]
        tile = tl.load(H + (node * K + k)[:, None] * D + column[None, :], cells, 0.0).to(tl.float32)
        total += tl.sum(w[:, None] * tile, 0)
    tl.store(out + node * D + column, total, inside)


@triton.jit
def average_back(g, H, log_weights, graph, dH, d_node, K, D, C: tl.constexpr):
    """C must cover all features, because d log w_k = w_k Σ_d g_d H_kd sums over them."""
    node, of, column, inside = _place(graph, D, C)
    d = tl.load(g + node * D + column, inside, 0.0).to(tl.float32)
    for k in range(K):
        w = tl.exp(tl.load(log_weights + of * K + k).to(tl.float32))
        h = tl.load(H + (node * K + k) * D + column, inside, 0.0).to(tl.float32)
        tl.store(dH + (node * K + k) * D + column, w * d, inside)
        tl.store(d_node + node * K + k, w * tl.sum(d * h, 0))


@triton.jit
def scatter_back(g, vertices, graph, out, K, M, D, OWN: tl.constexpr, C: tl.constexpr):
    """Sum of g over the draws of this node: for each particle if OWN, otherwise over all particles."""
    node, of, column, inside = _place(graph, D, C)
    total = tl.zeros([C], tl.float32)
    for k in range(K):
        for m in range(M):
            cell = (of * K + k) * M + m
            if tl.load(vertices + cell) == node:
                total += tl.load(g + cell * D + column, inside, 0.0).to(tl.float32)
        if OWN:
            tl.store(out + (node * K + k) * D + column, total, inside)
            total = tl.zeros([C], tl.float32)
    if not OWN:
        tl.store(out + node * D + column, total, inside)


@triton.jit
def add_forward(H, change, vertices, valid, graph, out, K, M, D, limit, OWN: tl.constexpr, C: tl.constexpr):
    node, of, column, inside = _place(graph, D, C)
    for k in range(K):
        row = node * K + k if OWN else node
        h = tl.load(H + row * D + column, inside, 0.0).to(tl.float32)
        for m in range(M):
            cell = (of * K + k) * M + m
            if (tl.load(vertices + cell) == node) & (tl.load(valid + cell) != 0):
                h += tl.load(change + cell * D + column, inside, 0.0).to(tl.float32)
        tl.store(out + (node * K + k) * D + column, bounded(h, limit), inside)


@triton.jit
def add_back(g, out, vertices, valid, graph, dH, d_change, K, M, D, limit, OWN: tl.constexpr, C: tl.constexpr):
    """The gradient of H, summed over the particles unless OWN, and the gradient of ``change`` at this node's draws."""
    node, of, column, inside = _place(graph, D, C)
    total = tl.zeros([C], tl.float32)
    for k in range(K):
        place = (node * K + k) * D + column
        free = tl.abs(tl.load(out + place, inside, 0.0).to(tl.float32)) < limit
        d = tl.where(free, tl.load(g + place, inside, 0.0).to(tl.float32), 0.0)
        for m in range(M):
            cell = (of * K + k) * M + m
            if tl.load(vertices + cell) == node:
                tl.store(d_change + cell * D + column, tl.where(tl.load(valid + cell) != 0, d, 0.0), inside)
        if OWN:
            tl.store(dH + place, d, inside)
        total += d
    if not OWN:
        tl.store(dH + node * D + column, total, inside)


def select(H: Tensor, ancestors: Tensor, graph: Tensor) -> Tensor:
    """H'[n, k] = H[n, a[g, k]], where g is the graph of node n; see :func:`pfgnn.ops.particles.select_particles`."""
    return _select(select_forward, H, ancestors, graph)


def select_backward(g: Tensor, ancestors: Tensor, graph: Tensor) -> Tensor:
    """The gradient of H, from the gradient g of H'."""
    return _select(select_back, g, ancestors, graph)


def _select(kernel: triton.JITFunction, source: Tensor, ancestors: Tensor, graph: Tensor) -> Tensor:
    N, K, D = source.shape
    out = torch.empty_like(source)
    grid, C = _cut(N, D)
    with torch.cuda.device_of(source):
        kernel[grid](source, ancestors.contiguous(), graph, out, K, D, C=C)
    return out


def average(H: Tensor, log_weights: Tensor, graph: Tensor) -> Tensor:
    """Σ_k w_k H[n, k], shape [N, D]."""
    N, K, D = H.shape
    out = H.new_empty(N, D)
    grid, C = _cut(N, D)
    with torch.cuda.device_of(H):
        average_forward[grid](H, log_weights, graph, out, K, D, R=min(16, triton.next_power_of_2(K)), C=C)
    return out


def average_backward(g: Tensor, H: Tensor, log_weights: Tensor, graph: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of H, and the part of each node in the gradient of the log weights, shape [N, K]."""
    N, K, D = H.shape
    dH = torch.empty_like(H)
    d_node = torch.empty(N, K, dtype=log_weights.dtype, device=H.device)
    with torch.cuda.device_of(H):
        average_back[(N, 1)](g, H, log_weights, graph, dH, d_node, K, D, C=triton.next_power_of_2(D))
    return dH, d_node


def scatter_vertices(g: Tensor, vertices: Tensor, graph: Tensor, own: int) -> Tensor:
    """The gradient of H [N, own, D], from the gradient g [G, K, m, D] of the embeddings of the drawn vertices.

    ``own`` is K, or 1 if all particles share their embeddings.
    """
    _, K, M, D = g.shape
    out = g.new_empty(len(graph), own, D)
    grid, C = _cut(len(graph), D)
    with torch.cuda.device_of(g):
        scatter_back[grid](g, vertices, graph, out, K, M, D, OWN=own > 1, C=C)
    return out


def add_at_vertices(H: Tensor, change: Tensor, vertices: Tensor, valid: Tensor, graph: Tensor, limit: float) -> Tensor:
    """H with ``change`` added at the drawn vertices, [N, K, D]; see :func:`pfgnn.ops.particles.add_to_vertices`."""
    _, K, M, D = change.shape
    out = H.new_empty(len(H), K, D)
    grid, C = _cut(len(H), D)
    with torch.cuda.device_of(H):
        add_forward[grid](H, change, vertices, valid, graph, out, K, M, D, limit, OWN=H.shape[1] > 1, C=C)
    return out


def add_backward(
    g: Tensor, out: Tensor, vertices: Tensor, valid: Tensor, graph: Tensor, own: int, limit: float
) -> tuple[Tensor, Tensor]:
    """The gradients of H [N, own, D] and of ``change`` [G, K, m, D], from the gradient g [N, K, D] of the result."""
    (N, K, D), M = g.shape, vertices.shape[2]
    dH, d_change = g.new_empty(N, own, D), g.new_empty(*vertices.shape, D)
    grid, C = _cut(N, D)
    with torch.cuda.device_of(g):
        add_back[grid](g, out, vertices, valid, graph, dH, d_change, K, M, D, limit, OWN=own > 1, C=C)
    return dH, d_change


def _cut(N: int, D: int) -> tuple[tuple[int, int], int]:
    C = min(256, triton.next_power_of_2(D))
    return (N, triton.cdiv(D, C)), C
