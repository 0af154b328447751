"""Marks by the positions of the nodes, for graphs in space."""

import pytest
import torch
from tests.graph_samples import circulant_edges, random_edges
from torch import Tensor
from torch_geometric.data import Batch, Data

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model import GIN, PFGNN, ByDistance, ByPosition, Exchange, StraightThrough
from pfgnn.model.exact import enumerate_tree, exact_prediction
from pfgnn.model.individualise import RADII, Individualise
from pfgnn.model.randomness import make_noise
from pfgnn.model.sample import Draw

D, N = 8, 9
EDGES = random_edges(N, 11)


def points(seed: int = 0, n: int = N) -> Tensor:
    return 2 * torch.randn(n, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def build(mark: Individualise | None = None, **options: object) -> PFGNN:
    torch.manual_seed(0)
    chosen = ByPosition(D, 1, reach=6.0) if mark is None else mark
    settings: dict[str, object] = {"in_channels": 0, "particles": N, "individualise": chosen, **options}
    return PFGNN(GIN(D, layers=2, norm="graph"), 2, **settings).double().eval()  # type: ignore[arg-type]


def predict(model: PFGNN, pos: Tensor | None, edges: Tensor = EDGES, **options: object) -> Tensor:
    batch = torch.zeros(N, dtype=torch.int64)
    return model(None, edges, batch=batch, pos=pos, **options).prediction.detach()


def test_every_vertex_gets_the_map_of_its_length() -> None:
    graph = GraphBatch.from_tensors(None, EDGES, None, torch.zeros(N, dtype=torch.int64), pos=points())
    noise = make_noise(0, torch.arange(1), torch.arange(N), graph.nodes)
    vertices = torch.tensor([[[2, 5], [7, 0]]])  # two particles with two vertices each
    valid = torch.tensor([[[True, True], [True, False]]])
    draw = Draw(vertices, valid, torch.zeros(1, 2), None, torch.zeros(1, 2), None)
    part = ByPosition(D, 2, reach=6.2).double()
    H = torch.randn(N, 2, D, dtype=torch.float64)
    found = part(H, draw, graph, noise, 2, torch.arange(2))
    plain = ByDistance(D, 2).double()
    plain.load_state_dict({name: value for name, value in part.state_dict().items() if name != "maps"})
    added = found - plain(H, draw, graph, noise, 2, torch.arange(2))
    for u in range(N):
        near = min(float((points()[u] - points()[v]).norm()) for v in (2, 5))
        for k, r in ((0, near), (1, float((points()[u] - points()[7]).norm()))):
            phi = torch.tensor([-(((r - i * 0.2) / 0.2) ** 2) for i in range(RADII)], dtype=torch.float64).exp()
            torch.testing.assert_close(added[u, k], phi @ part.maps[1])


@pytest.mark.parametrize("mark", [None, StraightThrough(ByPosition(D, 1))])
def test_moving_a_graph_changes_nothing_but_another_geometry_does(mark: Individualise | None) -> None:
    model, pos = build(mark), points()
    turn, _ = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64))  # a rotation or a reflection
    want = predict(model, pos)
    torch.testing.assert_close(predict(model, pos @ turn + 5), want)
    assert (predict(model, pos + 0.1 * points(1)) - want).abs().max() > 1e-3


def test_relabelling_batches_and_chunks_change_nothing() -> None:
    model, pos = build(), points()
    want = predict(model, pos)
    new = torch.randperm(N)
    old = new.argsort()
    torch.testing.assert_close(predict(model, pos[old], new[EDGES]), want)
    torch.testing.assert_close(predict(model, pos, chunk=2), want)
    graphs = [Data(edge_index=EDGES, pos=points(s), num_nodes=N) for s in (0, 1)]
    both = model(Batch.from_data_list(graphs)).prediction.detach()
    torch.testing.assert_close(both, torch.cat([want, predict(model, points(1))]))


def test_geometry_tells_apart_what_edges_do_not() -> None:
    """A ring drawn as a circle and as a zigzag. The control marks by the edges alone."""
    ring, turn = circulant_edges(N, 1), torch.arange(N, dtype=torch.float64) * 2 * torch.pi / N
    circle = torch.stack([turn.cos(), turn.sin(), 0 * turn], 1)
    zigzag = circle + torch.tensor([0.0, 0.0, 1.0]).double() * (torch.arange(N)[:, None] % 2)
    model, control = build(), build(ByDistance(D, 1))
    assert (predict(model, circle, ring) - predict(model, zigzag, ring)).abs().max() > 1e-3
    batch = torch.zeros(N, dtype=torch.int64)
    same = [control(Data(edge_index=ring, pos=pos, batch=batch)).prediction for pos in (circle, zigzag)]
    assert torch.equal(*same)


def test_all_vertices_are_the_limit_of_the_tree() -> None:
    """The model with K = n is exact."""
    model = build(exchange=Exchange(D, mean=False))
    batch = torch.zeros(N, dtype=torch.int64)
    tree = enumerate_tree(model, None, EDGES, None, batch, pos=points())
    torch.testing.assert_close(predict(model, points()), exact_prediction(model, tree).detach())


def test_the_gradient_of_a_position_is_finite_also_at_the_marked_vertex() -> None:
    pos = points().requires_grad_()
    batch = torch.zeros(N, dtype=torch.int64)
    build()(None, EDGES, batch=batch, pos=pos).prediction.sum().backward()
    assert pos.grad is not None
    assert pos.grad.isfinite().all()
    assert pos.grad.abs().max() > 1e-6


def test_wrong_positions() -> None:
    model = build()
    with pytest.raises(InputError, match="pos must hold the positions of the nodes, because the model reads them"):
        predict(model, None)
    with pytest.raises(InputError, match="pos must hold the positions of the nodes"):
        model(Data(edge_index=EDGES, num_nodes=N))
    with pytest.raises(InputError, match=rf"pos must have one row for each of {N} nodes, but its shape is \[8, 3\]"):
        predict(model, points()[:-1])
    with pytest.raises(InputTypeError, match=r"pos must hold floats, but it has dtype int64"):
        predict(model, points().long())
    with pytest.raises(InputError, match="pos must be finite, but in graph 0 it holds NaN or infinity"):
        predict(model, points() / 0)
    with pytest.raises(InputError, match="pos must not be given together with a Data, which has its own"):
        model(Data(edge_index=EDGES, num_nodes=N), pos=points())
    with pytest.raises(InputError, match="pos was given, but no part of the model reads it; leave it out, or take"):
        predict(build(ByDistance(D, 1)), points())
    with pytest.raises(InputError, match=r"reach must be above 0, but it is 0\.0"):
        ByPosition(D, 1, reach=0.0)
