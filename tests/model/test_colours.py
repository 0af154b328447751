"""Colour refinement as a backbone: the colours are those of 1-WL, bit by bit, whatever the order of the nodes."""

import numpy as np
import pytest
import torch

from pfgnn.data import Dataset
from pfgnn.data.loader import Resident
from pfgnn.graphs import Graph, refine
from pfgnn.graphs.strongly_regular import sr25
from pfgnn.model import PFGNN, ColourRefinement, Mark
from pfgnn.model.colours import hash_rows

WIDTH = 6


def directed(graph: Graph) -> torch.Tensor:
    return torch.from_numpy(graph.directed()[0])


def cells(rows: np.ndarray) -> list[int]:
    """For each row, the first row that is equal to it."""
    return [int((rows == row).reshape(len(rows), -1).all(1).argmax()) for row in rows]


@pytest.mark.parametrize("number", range(4))
def test_the_colours_are_those_of_1_wl(number: int) -> None:
    rng = np.random.default_rng(number)
    n = 12
    pairs = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.2])
    graph = Graph(n, pairs)
    found = ColourRefinement(WIDTH, n)(torch.ones(n, WIDTH), directed(graph))
    assert cells(found.numpy()) == cells(refine(graph)[:, None])
    assert found.abs().max() <= 3**0.5


def test_rounds_are_counted() -> None:
    path = Graph(7, np.stack([np.arange(6), np.arange(1, 7)], 1))
    number = [
        len(set(cells(ColourRefinement(WIDTH, L)(torch.ones(7, WIDTH), directed(path)).numpy()))) for L in (1, 2, 3)
    ]
    assert number == [2, 3, 4]


def test_the_order_of_the_nodes_changes_no_bit_and_particles_are_apart() -> None:
    graph = sr25()[3]
    n, backbone = graph.num_nodes, ColourRefinement(WIDTH, 3)
    order = np.random.default_rng(0).permutation(n)
    other = Graph(n, np.argsort(order)[graph.edges])
    x = torch.randn(n, 4, WIDTH).round()
    many = backbone(x, directed(graph))
    assert torch.equal(backbone(x[order], directed(other)), many[order])
    assert torch.equal(torch.stack([backbone(x[:, k], directed(graph)) for k in range(4)], 1), many)


def test_edge_features_count() -> None:
    ring = Graph(4, np.array([[0, 1], [1, 2], [2, 3], [0, 3]]))
    edges = directed(ring)
    kind = (edges.sum(0) % 4 == 1).float()[:, None]  # two of the four edges are of another kind
    backbone, x = ColourRefinement(WIDTH, 2), torch.ones(4, WIDTH)
    alike = [torch.full_like(kind, number) for number in (0.0, 1.0)]
    assert len({hash_rows(backbone(x, edges, of)).tolist()[0] for of in (*alike, kind)}) == 3


def test_a_hash_reads_all_bits_and_the_sign_of_zero_is_none() -> None:
    x = torch.tensor([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0 + 2**-22], [0.0, 0.0], [-0.0, 0.0]])
    found = hash_rows(x).tolist()
    assert len(set(found)) == 4
    assert found[3] == found[4]
    assert len(set(hash_rows(x.double()).tolist())) == 4


def test_all_pairs_of_marks_tell_strongly_regular_graphs_apart_and_one_mark_does_not() -> None:
    first, second = sr25()[:2]
    again = Graph(25, np.random.default_rng(1).permutation(25)[first.edges])
    resident = Resident(Dataset.from_graphs([first, second, again], np.zeros(3)))
    for steps in (1, 2):
        torch.manual_seed(0)
        backbone = ColourRefinement(16, 3)
        model = PFGNN(backbone, 4, steps=steps, particles=25**steps, individualise=Mark(16), exchange=False).eval()
        with torch.no_grad():
            out = model(resident.collate(np.arange(3))).prediction
        gap, rounding = float((out[0] - out[1]).abs().max()), float((out[0] - out[2]).abs().max())
        assert rounding < 1e-5
        assert (gap > 1e-3) == (steps == 2)
