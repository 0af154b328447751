"""RNI: single draws distinguish any two graphs, even isomorphic ones. The mean over draws is an invariant."""

import pytest
import torch
from tests.graph_samples import random_graph
from tests.model.rivals.pairs import BEYOND_1WL, inputs, relabelled
from torch import Tensor

from pfgnn import testing
from pfgnn.data.batch import GraphBatch
from pfgnn.graphs import Graph
from pfgnn.model import GIN
from pfgnn.model.rivals import RNI

D = 8
TRIANGLES, HEXAGON = BEYOND_1WL["two triangles, hexagon"]


def build(**options: object) -> RNI:
    return RNI(GIN(D), 2, **options).double().eval()  # type: ignore[arg-type]


def draws(model: RNI, graph: Graph, K: int = 60_000) -> Tensor:
    """K independent outputs [K, C]."""
    with torch.no_grad():
        H = model(*inputs(graph), particles=K).belief.embeddings
        return model.readout.head(model.readout.pool(H, GraphBatch.from_tensors(*inputs(graph))))[0]


def z_score(a: Tensor, b: Tensor) -> float:
    """The largest difference of the means [K, C], in standard errors."""
    error = (a.var(0) / len(a) + b.var(0) / len(b)).sqrt()
    return float(((a.mean(0) - b.mean(0)).abs() / error).max())


@pytest.mark.parametrize("share", [0.125, 0.5, 1.0])
def test_one_draw_separates_even_relabelled_copies(share: float) -> None:
    model = build(share=share)
    a, b = (model(*inputs(graph)).prediction for graph in (HEXAGON, relabelled(HEXAGON, seed=1)))
    assert (a - b).abs().max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_the_mean_over_draws_is_an_invariant(share: float) -> None:
    torch.manual_seed(2)  # weights with which the mean output distinguishes more than 1-WL
    model = build(share=share)
    hexagon = draws(model, HEXAGON)
    assert z_score(hexagon, draws(model, relabelled(HEXAGON, seed=1))) < 4
    assert z_score(hexagon, draws(model, TRIANGLES)) > 8


def test_the_prediction_is_the_mean_of_the_particles_outputs() -> None:
    model, graph = build(in_channels=3, share=0.5, particles=5), random_graph(7, 9, 3, dtype=torch.float64)
    output = model(*graph[:2])
    batch = GraphBatch.from_tensors(*graph[:2])
    alone = [model.readout.head(model.readout.pool(output.belief.embeddings[:, k], batch)) for k in range(5)]
    torch.testing.assert_close(output.prediction, torch.stack(alone).mean(0))
    torch.testing.assert_close(output.embedding, model.readout.pool(output.belief.embeddings, batch).mean(1))
    more = model(*graph[:2], particles=9).belief.embeddings[:, :5]
    torch.testing.assert_close(more, output.belief.embeddings)  # a particle does not depend on how many there are


@pytest.mark.parametrize(("share", "random"), [(0.125, 1), (0.5, 4), (0.875, 7), (1.0, 8)])
def test_share_is_the_part_of_the_columns_that_is_random(share: float, random: int) -> None:
    model = build(in_channels=3, share=share)
    x, edge_index, _ = random_graph(20, 30, 3, dtype=torch.float64)
    h, _, noise, *_ = model.prepare(GraphBatch.from_tensors(x, edge_index))
    H = model.initialise(h, noise, torch.arange(200))  # [N, K, D]
    assert H.shape == (20, 200, D)
    assert torch.equal(H[..., random:], model.encode_nodes(x)[:, None].expand(-1, 200, -1))
    epsilon = H[..., :random]
    assert epsilon.unique().numel() == epsilon.numel()  # no random number is used twice
    spread = epsilon.numel() ** -0.5
    assert epsilon.mean().abs() < 4 * spread
    assert (epsilon.square().mean() - 1).abs() < 4 * 2**0.5 * spread
    assert (epsilon.pow(4).mean() - 3).abs() < 4 * 96**0.5 * spread


def test_a_share_of_one_does_not_read_features() -> None:
    x, edge_index, _ = random_graph(7, 9, 3, dtype=torch.float64)
    read, unread = build(in_channels=3, share=0.5), build(in_channels=3, share=1.0)
    assert not torch.allclose(read(x, edge_index).prediction, read(x + 1, edge_index).prediction)
    torch.testing.assert_close(unread(x, edge_index).prediction, unread(x + 1, edge_index).prediction)


def test_every_training_pass_draws_anew_and_evaluation_repeats() -> None:
    model = build()
    graph = inputs(HEXAGON)
    assert torch.equal(model(*graph).prediction, model(*graph).prediction)
    assert not torch.equal(model(*graph).prediction, model(*graph, seed=1).prediction)
    model.train()
    assert not torch.equal(model(*graph).prediction, model(*graph).prediction)
    assert torch.equal(model(*graph, seed=3).prediction, model(*graph, seed=3).prediction)


def test_chunks_change_nothing() -> None:
    testing.assert_chunk_independent(build(particles=7), *inputs(HEXAGON))


def test_no_features_may_be_left_out() -> None:
    _, edge_index, _ = inputs(HEXAGON)
    for share in (0.5, 1.0):
        model, batch = build(share=share), torch.zeros(6, dtype=torch.int64)
        want = model(*inputs(HEXAGON)).prediction
        torch.testing.assert_close(model(None, edge_index, batch=batch).prediction, want)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match=r"share must lie in \(0, 1\], but it is 0.0"):
        build(share=0.0)
    with pytest.raises(ValueError, match="particles must be at least 1, but it is 0"):
        build(particles=0)
