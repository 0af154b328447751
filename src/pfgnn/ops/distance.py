"""Distances from marked vertices, by breadth-first search."""

import torch
from torch import Tensor

from pfgnn.ops.dispatch import fast, opaque
from pfgnn.ops.segments import Segments, make_segments, sum_neighbours


def distances(
    vertices: Tensor, valid: Tensor, largest: int, sources: Segments, targets: Segments, nodes: Segments
) -> Tensor:
    """d(u, v): the number of edges on a shortest path from the nearest marked vertex v to u.

    Edges are followed in their direction. If the distance is above ``largest``, or u cannot be reached, the result is
    ``largest`` + 1. Round r of the search finds the vertices at distance r, so there are ``largest`` rounds.

    Args:
        vertices: The marked vertices of each particle, as node numbers in the batch, shape [G, K, m].
        valid: Which of them count, shape [G, K, m].
        largest: The largest distance that is distinguished from longer ones.
        sources: The edges that leave each node.
        targets: The edges that reach each node. Edges are sorted by their targets.
        nodes: The nodes of each graph.

    Returns:
        The distances, int64, shape [N, K].
    """
    if opaque():
        return _distances(vertices, valid, largest, sources.index, targets.index, nodes.index)
    if fast(vertices):
        from pfgnn.ops.triton import rounds

        if rounds.fits(nodes, targets):
            return rounds.distances(vertices, valid, largest, sources, targets, nodes)
    K = vertices.shape[1]
    k = torch.arange(K, device=vertices.device)[:, None]
    # Count the valid marks: an invalid one repeats a vertex, so it must add 0 and not overwrite. The sums are of small
    # integers, so they are exact.
    reached = torch.zeros(targets.size, K, dtype=torch.float32, device=vertices.device)
    reached = reached.index_put((vertices, k), valid.float(), accumulate=True).clamp(max=1)
    d = torch.full((targets.size, K), largest + 1, dtype=torch.int64, device=vertices.device)
    d = torch.where(reached > 0, 0, d)
    one = reached.new_ones(())
    for r in range(1, largest + 1):
        reached = sum_neighbours(reached, one, sources, targets).clamp(max=1)
        d = torch.where((reached > 0) & (d > r), r, d)
    return d


@torch.library.custom_op("pfgnn::distances", mutates_args=())
def _distances(vertices: Tensor, valid: Tensor, largest: int, source: Tensor, target: Tensor, batch: Tensor) -> Tensor:
    """:func:`distances` for torch.compile: ``batch`` [N] is the graph of each node."""
    sources = make_segments(source, batch.shape[0], ordered=False, other=target)
    targets = make_segments(target, batch.shape[0], ordered=True)
    return distances(vertices, valid, largest, sources, targets, make_segments(batch, vertices.shape[0], ordered=True))


@_distances.register_fake
def _(vertices: Tensor, valid: Tensor, largest: int, source: Tensor, target: Tensor, batch: Tensor) -> Tensor:
    return vertices.new_empty(batch.shape[0], vertices.shape[1])
