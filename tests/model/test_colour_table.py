"""Tables of colours: equal colourings share a row whatever the order of the vertices, and rows are learned."""

import numpy as np
import pytest
import torch

from pfgnn.errors import InputError
from pfgnn.graphs import Graph, circulant, disjoint_union
from pfgnn.model import PFGNN, ColourPolicy, ColourRefinement, ColourTable, Mark

WIDTH, T = 4, 1
RING, TRIANGLES = circulant(6, [1]), disjoint_union(circulant(3, [1]), circulant(3, [1]))


def make_model() -> PFGNN:
    torch.manual_seed(0)
    readout = ColourTable(WIDTH, T, T + 1, rows=1024)
    with torch.no_grad():
        for table in readout.tables:
            table.copy_(torch.randn(1024))
    return PFGNN(
        ColourRefinement(WIDTH, 4),
        T + 1,
        in_channels=1,
        steps=T,
        particles=6,  # all vertices
        individualise=Mark(WIDTH),
        exchange=False,
        readout=readout,
    )


def outputs(model: PFGNN, graph: Graph, seed: int = 0) -> torch.Tensor:
    found: torch.Tensor = model(torch.ones(6, 1), torch.from_numpy(graph.directed()[0]), seed=seed).prediction[0]
    return found


def test_the_order_of_the_vertices_does_not_matter() -> None:
    model = make_model()
    want = outputs(model, RING)
    for number in range(4):
        order = np.random.default_rng(number).permutation(6)
        torch.testing.assert_close(outputs(model, RING.relabel(order.tolist()), seed=number), want)


def test_a_mark_shows_what_1_wl_does_not() -> None:
    model = make_model()
    ring, triangles = outputs(model, RING), outputs(model, TRIANGLES)
    assert ring[0] == triangles[0]
    assert ring[1] != triangles[1]


def test_only_the_rows_of_the_seen_colourings_are_learned() -> None:
    model = make_model()
    assert isinstance(model.readout, ColourTable)
    outputs(model, RING).sum().backward()
    gradients = [table.grad for table in model.readout.tables]
    assert all(gradient is not None and int((gradient != 0).sum()) == 1 for gradient in gradients)  # one orbit
    assert all(gradient is not None and float(gradient.sum()) == pytest.approx(1.0) for gradient in gradients)


def test_a_policy_scores_a_vertex_by_its_colour() -> None:
    policy = ColourPolicy(rows=64)
    H = torch.randn(4, 2, WIDTH)
    H[3, 1] = H[0, 0]
    graph = None  # which a table does not read
    assert torch.equal(policy(H, graph), torch.zeros(4, 2))
    with torch.no_grad():
        policy.table.copy_(torch.randn(64))
    scores = policy(H, graph)
    assert scores[3, 1] == scores[0, 0]
    assert len(set(scores.flatten().tolist())) > 4


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InputError, match="out_channels must be 3, one for each step from 0 to 2, but it is 16"):
        ColourTable(WIDTH, 2, 16)
    with pytest.raises(InputError, match='must have level "graph" and no join'):
        ColourTable(WIDTH, 2, 3, level="node")
    with pytest.raises(InputError, match='must have level "graph" and no join'):
        ColourTable(WIDTH, 1, 2, join=(1, 1))
