"""Pairs of non-isomorphic graphs that 1-WL or 3-WL cannot distinguish, and how well a model distinguishes them."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from pfgnn import testing
from pfgnn.graphs import Graph, cfi_pair, circulant, csl, disjoint_union, rook, shrikhande
from pfgnn.graphs.strongly_regular import sr25
from pfgnn.model import PFGNN

SEEDS = range(5)  # seeds of the weights
APART, EQUAL = 1e-6, 1e-12  # differences of outputs in float64, relative to their size

Pair = tuple[Graph, Graph]


def ring(n: int, first: int = 0) -> list[tuple[int, int]]:
    return [(first + i, first + (i + 1) % n) for i in range(n)]


def _decalin_and_bicyclopentyl() -> Pair:
    return Graph.from_edges(10, [*ring(10), (0, 5)]), Graph.from_edges(10, [*ring(5), *ring(5, first=5), (0, 5)])


K4 = Graph.from_edges(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
DIAMOND = Graph.from_edges(4, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])

# Pairs that 1-WL cannot distinguish.
BEYOND_1WL: dict[str, Pair] = {
    "two triangles, hexagon": (disjoint_union(circulant(3, [1]), circulant(3, [1])), circulant(6, [1])),
    "decalin, bicyclopentyl": _decalin_and_bicyclopentyl(),
    "CSL 2, 3": (csl(41, 2), csl(41, 3)),
    "CSL 9, 12": (csl(41, 9), csl(41, 12)),
    "CFI over a diamond": cfi_pair(DIAMOND),  # treewidth 2
}
# Pairs that 3-WL (2-FWL) cannot distinguish either.
BEYOND_3WL: dict[str, Pair] = {
    "rook, Shrikhande": (rook(4), shrikhande()),
    "SR25 0, 1": (sr25()[0], sr25()[1]),
    "SR25 3, 9": (sr25()[3], sr25()[9]),
    "CFI over K4": cfi_pair(K4),  # treewidth 3
}


def relabelled(graph: Graph, seed: int) -> Graph:
    return graph.relabel(np.random.default_rng(seed).permutation(graph.num_nodes))


def inputs(graph: Graph) -> tuple[Tensor, Tensor, None]:
    edge_index, _ = graph.directed()
    return torch.zeros(graph.num_nodes, 0, dtype=torch.float64), torch.from_numpy(edge_index), None


def differences(make: Callable[[], PFGNN], *pairs: Pair) -> Tensor:
    """The relative difference of the outputs of each pair, for several random models, shape [seeds, pairs]."""
    graphs = testing.collate([inputs(graph) for pair in pairs for graph in pair])
    found = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        with torch.no_grad():
            y = make().double().eval()(*graphs).prediction.view(len(pairs), 2, -1)
        found.append((y[:, 0] - y[:, 1]).abs().amax(1) / y.abs().amax())
    return torch.stack(found)


def assert_separates(make: Callable[[], PFGNN], pair: Pair) -> None:
    """All weights distinguish the pair, and none distinguish a graph from a relabelled copy of itself."""
    apart, *equal = differences(make, pair, *controls(pair)).T
    assert apart.min() > APART
    assert torch.stack(equal).max() < EQUAL


def assert_does_not_separate(make: Callable[[], PFGNN], pair: Pair) -> None:
    assert differences(make, pair, *controls(pair)).max() < EQUAL


def controls(pair: Pair) -> list[Pair]:
    return [(graph, relabelled(graph, seed=1)) for graph in pair]
