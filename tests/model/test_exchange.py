import pytest
import torch
import torch_geometric.nn as pyg
from tests.graph_samples import random_graph, undirected

from pfgnn.data.batch import GraphBatch
from pfgnn.model import GIN, PFGNN, Exchange
from pfgnn.model.particle_context import Context
from pfgnn.model.randomness import default_node_key, make_noise
from pfgnn.ops.exchange import tell
from pfgnn.ops.weights import normalise

D, K = 4, 3
GRAPH = GraphBatch.from_tensors(None, undirected([(0, 1), (1, 2), (3, 4)]), None, torch.tensor([0, 0, 0, 1, 1]))
NOISE = make_noise(0, torch.arange(2), default_node_key(GRAPH), GRAPH.nodes)
VERTICES = torch.tensor([[[0], [2], [1]], [[4], [3], [4]]])


def context(order: list[int]) -> tuple[torch.Tensor, Context]:
    """Embeddings and context of K particles in some order."""
    x = torch.randn(5, K, D, generator=torch.Generator().manual_seed(1))
    log_w = normalise(torch.randn(2, K, generator=torch.Generator().manual_seed(2)))
    return x[:, order], Context(NOISE, 1, torch.arange(K), VERTICES[:, order], log_w[:, order])


def told(exchange: Exchange, y: torch.Tensor, x: torch.Tensor, of: Context) -> torch.Tensor:
    """The output y of a layer, with the terms that the exchange adds for its input x."""
    same, to_nodes, to_particles = exchange(x, GRAPH, of)
    assert torch.equal(same, x)
    return tell(y, to_nodes, to_particles, GRAPH.nodes)


def test_both_terms_are_those_of_the_equation() -> None:
    x, of = context([0, 1, 2])
    assert of.log_weights is not None
    exchange, y = Exchange(D, mean=True), torch.randn(5, K, D)
    mean = torch.einsum("nk,nkd->nd", of.log_weights.exp()[GRAPH.batch], x)
    marked = torch.stack([x[VERTICES[GRAPH.batch, k, 0], k] for k in range(K)], 1)
    assert exchange.of_mean is not None
    assert exchange.of_mark is not None
    want = y + exchange.of_mean(mean)[:, None] + exchange.of_mark(marked)
    torch.testing.assert_close(told(exchange, y, x, of), want)


@pytest.mark.parametrize("terms", [{"mean": True, "mark": False}, {"mean": True}, {}])
def test_the_order_of_the_particles_does_not_matter(terms: dict[str, bool]) -> None:
    exchange, order = Exchange(D, **terms), [2, 0, 1]
    y = torch.randn(5, K, D)
    straight = told(exchange, y, *context([0, 1, 2]))
    turned = told(exchange, y[:, order], *context(order))
    torch.testing.assert_close(turned, straight[:, order])


def test_each_layer_and_step_has_maps_of_its_own() -> None:
    model = PFGNN(GIN(D, layers=2), 1, steps=2)
    maps = [part.of_mark for part in model.modules() if isinstance(part, Exchange) and part.of_mark is not None]
    assert len(maps) == 4
    assert len({float(next(own.parameters()).detach()[0, 0]) for own in maps}) == 4


def test_it_is_left_out_where_the_backbone_is_foreign_and_refused_where_it_was_asked_for() -> None:
    foreign = pyg.GCNConv(D, D)
    assert not any(isinstance(part, Exchange) for part in PFGNN(foreign, 1, width=D).modules())
    with pytest.raises(ValueError, match=r"exchange needs a backbone of .*, but it is GCNConv"):
        PFGNN(foreign, 1, width=D, exchange=Exchange(D))


def test_the_mean_needs_all_particles_at_once_and_the_mark_does_not() -> None:
    x, edge_index, _ = random_graph(6, 7, 3)
    with pytest.raises(ValueError, match="chunk must be None if particles exchange their mean"):
        PFGNN(GIN(D), 1, in_channels=3, exchange=Exchange(D, mean=True))(x, edge_index, chunk=2)
    model = PFGNN(GIN(D), 1, in_channels=3).eval()
    torch.testing.assert_close(model(x, edge_index, chunk=2).prediction, model(x, edge_index).prediction)
