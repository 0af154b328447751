import numpy as np
import pytest

from pfgnn.graphs import Graph, csl, random_graph, random_regular, rook, shrikhande
from pfgnn.graphs.marked import marked_certificate


def test_how_many_marks_famous_pairs_need() -> None:
    for pair, steps in (((csl(41, 2), csl(41, 3)), 1), ((shrikhande(), rook(4)), 2)):
        left, right = pair
        for fewer in range(steps):
            assert marked_certificate(left, fewer) == marked_certificate(right, fewer)
        assert marked_certificate(left, steps) != marked_certificate(right, steps)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_isomorphic_graphs_are_never_told_apart(steps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labelled = random_graph(9, 14, rng)
    graphs = [random_regular(10, 3, rng), Graph(9, labelled.edges, rng.integers(2, size=(9, 1)))]
    for graph in graphs:
        other = graph.relabel(rng.permutation(graph.num_nodes))
        assert marked_certificate(graph, steps) == marked_certificate(other, steps)


def test_too_many_paths_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 5000 choices of 2 vertices, but it has 80 vertices"):
        marked_certificate(random_graph(80, 90, np.random.default_rng(0)), 2)
