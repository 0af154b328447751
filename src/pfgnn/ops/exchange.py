"""Exchange between the particles of a graph: collect information from all particles, and add terms to each."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.cpu import exchange as cpu
from pfgnn.ops.cpu.blocks import large
from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.particles import average_particles, pick_vertices
from pfgnn.ops.segments import Segments, segment_sum, spread


def listen(
    H: Tensor, log_weights: Tensor, vertices: Tensor, nodes: Segments, mean: bool, mark: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """H itself, the mean particle Σ_k w_k H[n, k], and the embedding of each particle's marked vertex.

    Use the returned H afterwards. Then all gradients of H are added in one kernel.

    Args:
        H: Embeddings, shape [N, K, D].
        log_weights: log w, shape [G, K].
        vertices: The marked vertices, shape [G, K, m]. With m > 1, the mean of their embeddings is taken.
        nodes: The nodes of each graph.
        mean: Whether to compute the mean particle.
        mark: Whether to collect the embeddings of the marked vertices.

    Returns:
        H, shape [N, K, D].
        The mean particle, shape [N, D], or None.
        The embeddings of the marked vertices, shape [G, K, D], or None.
    """
    if nodes.start is not None and fast(H):
        return apply(_Listen, H, log_weights, vertices, nodes, mean, mark)
    return (
        H,
        average_particles(H, log_weights, nodes) if mean else None,
        pick_vertices(H, vertices, nodes).mean(2) if mark else None,
    )


def tell(y: Tensor, to_nodes: Tensor | None, to_particles: Tensor | None, nodes: Segments) -> Tensor:
    """y[n, k] + a[n] + b[g, k], where g is the graph of node n.

    Args:
        y: Embeddings, shape [N, K, D].
        to_nodes: a, shape [N, D], or None.
        to_particles: b, shape [G, K, D], or None.
        nodes: The nodes of each graph.

    Returns:
        The sum, shape [N, K, D].
    """
    if nodes.start is not None and fast(y):
        return apply(_Tell, y, to_nodes, to_particles, nodes)
    if large(y) and all(term is None or term.dtype == y.dtype for term in (to_nodes, to_particles)):
        return cpu.tell(y, to_nodes, to_particles, nodes)
    if to_nodes is not None:
        y = y + to_nodes[:, None]
    return y if to_particles is None else y + spread(to_particles, nodes)


class _Listen(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, H: Tensor, log_weights: Tensor, vertices: Tensor, nodes: Segments, mean: bool, mark: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        from pfgnn.ops.triton.particles import average

        H, log_weights = H.contiguous(), log_weights.contiguous()
        ctx.save_for_backward(H, log_weights, vertices.contiguous())
        ctx.nodes, ctx.mean, ctx.mark = nodes, mean, mark
        k = torch.arange(vertices.shape[1], device=H.device)
        marked = (
            (H[vertices[..., 0], k] if vertices.shape[2] == 1 else H[vertices, k[:, None]].mean(2)) if mark else None
        )
        return H, average(H, log_weights, nodes.index) if mean else None, marked

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from pfgnn.ops.triton.exchange import listen_backward

        H, log_weights, vertices = ctx.saved_tensors
        g, of_mean, of_mark = gradients
        weighed = ctx.mean and ctx.needs_input_grad[1]
        dH, d_node = listen_backward(
            g.contiguous(),
            of_mean.contiguous() if ctx.mean else None,
            of_mark.contiguous() if ctx.mark else None,
            H,
            log_weights,
            vertices,
            ctx.nodes.index,
            weighed,
        )
        return dH, segment_sum(d_node, ctx.nodes) if d_node is not None else None, None, None, None, None


class _Tell(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, to_nodes: Tensor | None, to_particles: Tensor | None, nodes: Segments) -> Tensor:
        from pfgnn.ops.triton.exchange import add_terms

        ctx.nodes, ctx.own = nodes, y.dtype
        ctx.of_nodes, ctx.of_particles = (None if term is None else term.dtype for term in (to_nodes, to_particles))
        a, b = (None if term is None else term.contiguous() for term in (to_nodes, to_particles))
        return add_terms(y.contiguous(), a, b, nodes.index)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        g = gradients[0]
        to_nodes = None if ctx.of_nodes is None else g.sum(1).to(ctx.of_nodes)
        to_particles = None if ctx.of_particles is None else segment_sum(g, ctx.nodes).to(ctx.of_particles)
        return g.to(ctx.own), to_nodes, to_particles, None
