"""Triton kernels for :mod:`pfgnn.ops.exchange`. Each program handles some rows (n, k) with all their features."""

import torch
import triton
import triton.language as tl
from torch import Tensor

CELLS = 2048  # entries per program


@triton.jit
def _rows(graph, M, K, D, R: tl.constexpr, C: tl.constexpr):
    """Place of a program.

    Returns:
        The rows (n, k), the node n of each, its cell (graph of n, k), the columns, and which entries exist.
    """
    row = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    node = row // K
    cell = tl.load(graph + node, row < M, 0) * K + row % K
    column = tl.arange(0, C)[None, :]
    return row, node, cell, column, (row < M)[:, None] & (column < D)


@triton.jit
def tell_forward(
    y, a, b, graph, out, M, K, D, NODES: tl.constexpr, PARTICLES: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):
    row, node, cell, column, there = _rows(graph, M, K, D, R, C)
    total = tl.load(y + row[:, None] * D + column, there, 0.0).to(tl.float32)
    if NODES:
        total += tl.load(a + node[:, None] * D + column, there, 0.0).to(tl.float32)
    if PARTICLES:
        total += tl.load(b + cell[:, None] * D + column, there, 0.0).to(tl.float32)
    tl.store(out + row[:, None] * D + column, total, there)


@triton.jit
def listen_back(
    g, of_mean, of_mark, H, log_weights, vertices, graph, dH, d_node, M, K, V, D,
    MEAN: tl.constexpr, MARK: tl.constexpr, WEIGHED: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The gradient of H: g_nk + w_k g^mean_n, plus g^mark_k / V for each mark of particle k that is node n.

    V is the number of marks of a particle. If WEIGHED, also the part of node n in the gradient of log w_k.
    """
    row, node, cell, column, there = _rows(graph, M, K, D, R, C)
    place = row[:, None] * D + column
    total = tl.load(g + place, there, 0.0).to(tl.float32)
    if MEAN:
        w = tl.exp(tl.load(log_weights + cell, row < M, 0.0).to(tl.float32))
        d = w[:, None] * tl.load(of_mean + node[:, None] * D + column, there, 0.0).to(tl.float32)
        total += d
        if WEIGHED:
            tl.store(d_node + row, tl.sum(d * tl.load(H + place, there, 0.0).to(tl.float32), 1), row < M)
    if MARK:
        hits = tl.zeros([R], tl.float32)
        for v in range(V):
            hits += (tl.load(vertices + cell * V + v, row < M, -1) == node).to(tl.float32)
        hit = there & (hits > 0)[:, None]  # load only these entries
        total += (hits / V)[:, None] * tl.load(of_mark + cell[:, None] * D + column, hit, 0.0).to(tl.float32)
    tl.store(dH + place, total, there)


def add_terms(y: Tensor, to_nodes: Tensor | None, to_particles: Tensor | None, graph: Tensor) -> Tensor:
    """y[n, k] + to_nodes[n] + to_particles[g, k], with g the graph of node n; see :func:`pfgnn.ops.exchange.tell`."""
    terms = [term for term in (to_nodes, to_particles) if term is not None]
    dtype = y.dtype
    for term in terms:
        dtype = torch.promote_types(dtype, term.dtype)
    out = torch.empty_like(y, dtype=dtype)
    M, K, D, grid, tile = _cut(y)
    with torch.cuda.device_of(y):
        tell_forward[grid](
            y, y if to_nodes is None else to_nodes, y if to_particles is None else to_particles, graph, out, M, K, D,
            NODES=to_nodes is not None, PARTICLES=to_particles is not None, **tile,
        )  # fmt: skip
    return out


def listen_backward(
    g: Tensor,
    of_mean: Tensor | None,
    of_mark: Tensor | None,
    H: Tensor,
    log_weights: Tensor,
    vertices: Tensor,
    graph: Tensor,
    weighed: bool,
) -> tuple[Tensor, Tensor | None]:
    """The gradient of H, and if ``weighed`` the part of each node in the gradient of log w, shape [N, K].

    Args:
        g: Gradient of the returned H, shape [N, K, D].
        of_mean: Gradient of the mean particle, shape [N, D], or None.
        of_mark: Gradient of the marked vertices' embeddings, shape [G, K, D], or None.
        H: Embeddings, shape [N, K, D].
        log_weights: log w, shape [G, K].
        vertices: The marked vertices, shape [G, K, m].
        graph: Graph of each node, shape [N].
        weighed: Whether the gradient of log w is needed.
    """
    dH = torch.empty_like(H)
    d_node = log_weights.new_empty(H.shape[:2]) if weighed else None
    M, K, D, grid, tile = _cut(H)
    with torch.cuda.device_of(H):
        listen_back[grid](
            g, g if of_mean is None else of_mean, g if of_mark is None else of_mark, H, log_weights, vertices, graph,
            dH, dH if d_node is None else d_node, M, K, vertices.shape[2], D,
            MEAN=of_mean is not None, MARK=of_mark is not None, WEIGHED=weighed, **tile,
        )  # fmt: skip
    return dH, d_node


def _cut(H: Tensor) -> tuple[int, int, int, tuple[int], dict[str, int]]:
    """The number of rows M, of particles K, of features D, the grid, and the shape of a program's tile."""
    N, K, D = H.shape
    C = triton.next_power_of_2(D)
    R = max(1, CELLS // C)
    return N * K, K, D, (triton.cdiv(N * K, R),), {"R": R, "C": C}
