"""Operations on the embeddings of K particles: copy ancestors, average, and read or change drawn vertices."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.ops.dispatch import apply, fast, once
from pfgnn.ops.segments import Segments, segment_sum, spread


def select_particles(H: Tensor, ancestors: Tensor, nodes: Segments) -> Tensor:
    """H'[n, k] = H[n, a_k], where a are the ancestors in the graph of node n.

    Args:
        H: Embeddings, shape [N, K, D].
        ancestors: a, shape [G, K].
        nodes: The nodes of each graph.

    Returns:
        H', shape [N, K, D].
    """
    if fast(H):
        return apply(_Select, H, ancestors, nodes)
    return H.gather(1, ancestors[nodes.index][..., None].expand_as(H))


def average_particles(H: Tensor, log_weights: Tensor, nodes: Segments) -> Tensor:
    """The mean particle Σ_k w_k H[n, k], where w are the weights in the graph of node n.

    Args:
        H: Embeddings, shape [N, K, D].
        log_weights: log w, shape [G, K].
        nodes: The nodes of each graph.

    Returns:
        The mean, shape [N, D].
    """
    if nodes.start is not None and fast(H):
        return apply(_Average, H, log_weights, nodes)
    w = spread(log_weights.exp(), nodes)[:, None].to(H.dtype)  # [N, 1, K]
    return (w @ H).squeeze(1)


def pick_vertices(H: Tensor, vertices: Tensor, nodes: Segments) -> Tensor:
    """The embeddings of the drawn vertices.

    Args:
        H: Embeddings, shape [N, K, D], or [N, 1, D] while all particles are equal.
        vertices: The drawn vertices, shape [G, K, m].
        nodes: The nodes of each graph.

    Returns:
        Their embeddings, shape [G, K, m, D].
    """
    if fast(H):
        return apply(_Pick, H, vertices, nodes)
    return H.flatten(0, 1).index_select(0, _places(vertices, H.shape[1])).view(*vertices.shape, H.shape[2])


def add_to_vertices(
    H: Tensor, change: Tensor, vertices: Tensor, valid: Tensor, nodes: Segments, limit: float
) -> Tensor:
    """Add ``change`` to the embeddings of the drawn vertices, then clamp to ±limit.

    Args:
        H: Embeddings, shape [N, K, D], or [N, 1, D] while all particles are equal.
        change: What to add to each drawn vertex, shape [G, K, m, D].
        vertices: The drawn vertices, shape [G, K, m].
        valid: Which draws are valid, shape [G, K, m]. The others change nothing.
        nodes: The nodes of each graph.
        limit: Largest absolute value of the result.

    Returns:
        The new embeddings, shape [N, K, D].
    """
    if fast(H):
        return apply(_Add, H, change, vertices, valid, nodes, limit)
    K, D = vertices.shape[1], H.shape[2]
    wide = H.expand(-1, K, -1).reshape(-1, D)  # [N K, D]
    # Add and not overwrite: an invalid draw repeats a vertex, and must not undo the change of the valid one.
    added = wide.index_add(0, _places(vertices, K), torch.where(valid[..., None], change, 0.0).reshape(-1, D))
    return added.clamp(-limit, limit).view(H.shape[0], K, D)


def _at(H: Tensor, vertices: Tensor) -> Tensor:
    """H [N, K, D] or [N, 1, D] at the vertices [G, K, m], shape [G, K, m, D]. For code that needs no gradient."""
    return H[vertices, _particles(vertices) if H.shape[1] > 1 else 0]


def _places(vertices: Tensor, K: int) -> Tensor:
    """Row numbers of the vertices [G, K, m] in embeddings [N K, D], shape [G K m]."""
    return (K * vertices + (_particles(vertices) if K > 1 else 0)).flatten()


def _particles(vertices: Tensor) -> Tensor:
    return torch.arange(vertices.shape[1], device=vertices.device)[:, None]


class _Select(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: Tensor, ancestors: Tensor, nodes: Segments) -> Tensor:
        from pfgnn.ops.triton.particles import select

        ctx.save_for_backward(ancestors)
        ctx.nodes = nodes
        return select(H.contiguous(), ancestors, nodes.index)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        from pfgnn.ops.triton.particles import select_backward

        (ancestors,) = ctx.saved_tensors
        return select_backward(gradients[0].contiguous(), ancestors, ctx.nodes.index), None, None


class _Average(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: Tensor, log_weights: Tensor, nodes: Segments) -> Tensor:
        from pfgnn.ops.triton.particles import average

        H, log_weights = H.contiguous(), log_weights.contiguous()
        ctx.save_for_backward(H, log_weights)
        ctx.nodes = nodes
        return average(H, log_weights, nodes.index)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        from pfgnn.ops.triton.particles import average_backward

        H, log_weights = ctx.saved_tensors
        dH, d_node = average_backward(gradients[0].contiguous(), H, log_weights, ctx.nodes.index)
        return dH, segment_sum(d_node, ctx.nodes), None


class _Pick(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: Tensor, vertices: Tensor, nodes: Segments) -> Tensor:
        ctx.save_for_backward(vertices.contiguous())
        ctx.nodes, ctx.own = nodes, H.shape[1]
        return _at(H, vertices)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        from pfgnn.ops.triton.particles import scatter_vertices

        (vertices,) = ctx.saved_tensors
        return scatter_vertices(gradients[0].contiguous(), vertices, ctx.nodes.index, ctx.own), None, None


class _Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: Tensor, change: Tensor, *rest: Any) -> Tensor:
        from pfgnn.ops.triton.particles import add_at_vertices

        *drawn, nodes, limit = rest
        vertices, valid = (of.contiguous() for of in drawn)
        out = add_at_vertices(H.contiguous(), change.contiguous(), vertices, valid, nodes.index, limit)
        ctx.save_for_backward(out, vertices, valid)
        ctx.nodes, ctx.own, ctx.limit = nodes, H.shape[1], limit
        return out

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from pfgnn.ops.triton.particles import add_backward

        out, vertices, valid = ctx.saved_tensors
        g = gradients[0].contiguous()
        dH, d_change = add_backward(g, out, vertices, valid, ctx.nodes.index, ctx.own, ctx.limit)
        return dH, d_change, None, None, None, None
