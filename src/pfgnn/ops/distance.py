"""Distances from marked vertices, by rounds of breadth-first search."""

import torch
from torch import Tensor

from pfgnn.ops.segments import Segments, sum_neighbours


def distances(vertices: Tensor, valid: Tensor, largest: int, sources: Segments, targets: Segments) -> Tensor:
    """d(u, v): edges on a shortest path from the nearest marked vertex v to u, or ``largest`` + 1 if it is longer.

    Edges are followed in their direction. Weights of edges do not count. A vertex that cannot be reached has
    ``largest`` + 1 as well. Round r reaches the vertices at distance r, so there are ``largest`` rounds.

    Args:
        vertices: the marked vertices of each particle, as node numbers in the batch, [G, K, m].
        valid: which of them count, [G, K, m].
        largest: the largest distance that is told from longer ones.
        sources, targets: of the edges, which lie in order of their targets.

    Returns: int64 [N, K].
    """
    K = vertices.shape[1]
    k = torch.arange(K, device=vertices.device)[:, None]
    # Counted, for a draw that is not valid repeats a vertex. The sums are of small integers, so they are exact.
    reached = torch.zeros(targets.size, K, device=vertices.device)
    reached = reached.index_put((vertices, k), valid.float(), accumulate=True).clamp(max=1)
    d = torch.full((targets.size, K), largest + 1, dtype=torch.int64, device=vertices.device)
    d = torch.where(reached > 0, 0, d)
    one = reached.new_ones(())
    for r in range(1, largest + 1):
        reached = sum_neighbours(reached, one, sources, targets).clamp(max=1)
        d = torch.where((reached > 0) & (d > r), r, d)
    return d
