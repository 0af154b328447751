"""Small graphs for tests, as (x, edge_index, edge_attr)."""

import torch
from torch import Tensor

Graph = tuple[Tensor, Tensor, Tensor | None]


def undirected(pairs: list[tuple[int, int]]) -> Tensor:
    """Both directions of each edge: [2, 2 E]."""
    edges = torch.tensor(pairs, dtype=torch.int64).view(-1, 2).T
    return torch.cat([edges, edges.flip(0)], 1)


def circulant_edges(n: int, *jumps: int) -> Tensor:
    return undirected([(i, (i + jump) % n) for jump in jumps for i in range(n)])


def random_edges(n: int, m: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(n))
    chosen = pairs[torch.randperm(len(pairs), generator=generator)[:m]]
    return undirected([(int(u), int(v)) for u, v in chosen])


def random_graph(n: int, m: int, features: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Graph:
    """A random graph with random node features, and edge features of the same width, equal both ways."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = random_edges(n, m, seed)
    half = torch.randn(m, features, generator=generator, dtype=torch.float64)
    x = torch.randn(n, features, generator=generator, dtype=torch.float64)
    return x.to(dtype), edge_index, torch.cat([half, half]).to(dtype)


def featureless(edge_index: Tensor, n: int) -> Graph:
    return torch.zeros(n, 0), edge_index, None
