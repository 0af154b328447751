import math

import networkx as nx
import pytest
import torch
from tests.graph_samples import random_edges, undirected
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.model import (
    GIN,
    PFGNN,
    Additive,
    ByDistance,
    Multiplicative,
    MultiplicativeRelu,
    RandomNormal,
    StraightThrough,
)
from pfgnn.model.individualise import Individualise
from pfgnn.model.randomness import make_noise
from pfgnn.model.sample import Draw
from pfgnn.ops.distance import distances

D, K = 8, 3
# A path of three vertices, and two vertices without an edge.
GRAPH = GraphBatch.from_tensors(None, undirected([(0, 1), (1, 2)]), None, torch.tensor([0, 0, 0, 1, 1]))
NOISE = make_noise(0, torch.arange(2), torch.tensor([0, 1, 2, 0, 1]), GRAPH.nodes)
VERTICES = torch.tensor([[[0], [2], [2]], [[4], [3], [4]]])  # [G=2, K=3, m=1]
DRAW = Draw(VERTICES, torch.ones_like(VERTICES, dtype=torch.bool), torch.zeros(2, K), None, torch.zeros(2, K), None)


def apply(part: Individualise, H: Tensor, draw: Draw = DRAW, step: int = 1) -> Tensor:
    return part(H, draw, GRAPH, NOISE, step, torch.arange(K))


def chosen() -> Tensor:
    mask = torch.zeros(5, K, dtype=torch.bool)
    for k in range(K):
        mask[VERTICES[:, k, 0], k] = True
    return mask


@pytest.mark.parametrize("kind", [Multiplicative, Additive, RandomNormal])
def test_only_the_drawn_vertices_change(kind: type[Individualise]) -> None:
    H = torch.randn(5, K, D)
    changed = (apply(kind(D), H) != H).any(-1)
    assert torch.equal(changed, chosen())


def test_equations() -> None:
    H, mask = torch.randn(5, K, D), chosen()
    multiplicative, additive, rectified = Multiplicative(D), Additive(D), MultiplicativeRelu(D)
    M = torch.where(mask[..., None], multiplicative.mlp(H), 1.0)  # the paper's mask matrix: 1 except in row v
    torch.testing.assert_close(apply(multiplicative, H), H * M)
    M = torch.where(mask[..., None], rectified.mlp(H).relu(), 1.0)
    torch.testing.assert_close(apply(rectified, H), H * M)
    torch.testing.assert_close(apply(additive, H), H + torch.where(mask[..., None], additive.mlp(H), 0.0))


@pytest.mark.parametrize(("share", "dimensions"), [(1.0, 8), (0.875, 7), (0.5, 4), (0.125, 1)])
def test_partial_individualisation_changes_that_share_of_the_dimensions(share: float, dimensions: int) -> None:
    H = torch.randn(5, K, D)
    changed = (apply(Multiplicative(D, share), H) != H)[chosen()]
    assert changed.sum(-1).tolist() == [dimensions] * int(chosen().sum())


def test_random_individualisation_differs_by_particle_and_is_reproducible() -> None:
    H = torch.ones(5, K, D)
    part = RandomNormal(D)
    first = apply(part, H)
    assert torch.equal(first, apply(part, H))
    assert not torch.equal(first, apply(part, H, step=2))
    assert not torch.equal(first[2, 1], first[2, 2])  # two particles drew vertex 2


def test_one_shared_colouring_becomes_k() -> None:
    H = torch.randn(5, 1, D)
    part = Multiplicative(D)
    torch.testing.assert_close(apply(part, H), apply(part, H.expand(-1, K, -1)))


def test_a_draw_that_is_not_valid_changes_nothing() -> None:
    H = torch.randn(5, K, D)
    invalid = DRAW._replace(valid=torch.zeros_like(DRAW.valid))
    assert torch.equal(apply(Multiplicative(D), H, invalid), H)


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5])
def test_share_outside_its_range(share: float) -> None:
    with pytest.raises(ValueError, match=rf"share must lie in \(0, 1\], but it is {share}"):
        Multiplicative(D, share)


def distances_to(graph: GraphBatch, vertices: list[int], largest: int, valid: bool = True) -> list[int]:
    """Distances of all nodes to the nearest of some vertices of graph 0."""
    marked = torch.tensor(vertices)[None, None]
    counts = torch.full_like(marked, valid, dtype=torch.bool)
    return distances(marked, counts, largest, graph.sources, graph.targets, graph.nodes)[:, 0].tolist()


class TestDistance:
    """A path 0 - 1 - 2 - 3 - 4 and an isolated vertex 5."""

    path = GraphBatch.from_tensors(
        None, undirected([(i, i + 1) for i in range(4)]), None, torch.zeros(6, dtype=torch.int64)
    )

    def test_distances_are_those_of_breadth_first_search(self) -> None:
        assert distances_to(self.path, [1], 5) == [1, 0, 1, 2, 3, 6]

    def test_longer_ones_share_the_last_value_with_what_cannot_be_reached(self) -> None:
        assert distances_to(self.path, [0], 2) == [0, 1, 2, 3, 3, 3]

    def test_the_nearest_of_several_counts(self) -> None:
        assert distances_to(self.path, [0, 4], 5) == [0, 1, 2, 1, 0, 6]

    def test_a_draw_that_is_not_valid_marks_nothing(self) -> None:
        assert distances_to(self.path, [1], 5, valid=False) == [6] * 6

    def test_edges_are_followed_in_their_direction(self) -> None:
        directed = GraphBatch.from_tensors(
            None, torch.tensor([[0, 1], [1, 2]]), None, torch.zeros(3, dtype=torch.int64)
        )
        assert distances_to(directed, [1], 3) == [4, 0, 1]

    def test_they_are_networkx_s_on_a_random_graph(self) -> None:
        edges = random_edges(30, 34, seed=3)
        graph = GraphBatch.from_tensors(None, edges, None, torch.zeros(30, dtype=torch.int64))
        lengths = nx.single_source_shortest_path_length(nx.Graph(edges.T.tolist()), 7, cutoff=4)
        assert distances_to(graph, [7], 4) == [lengths.get(u, 5) for u in range(30)]

    def test_every_vertex_gets_the_row_of_its_distance(self) -> None:
        H, part = torch.randn(5, K, D), ByDistance(D, steps=2, max_distance=1)
        recoloured = H + torch.where(chosen()[..., None], part.mlp(H), 0.0)
        d = torch.tensor([[0, 2, 2], [1, 1, 1], [2, 0, 0], [2, 0, 2], [0, 2, 0]])
        for step in (1, 2):
            torch.testing.assert_close(apply(part, H, step=step), recoloured + part.tables[step - 1][d])

    def test_bad_sizes(self) -> None:
        with pytest.raises(ValueError, match="max_distance must be at least 1, but it is 0"):
            ByDistance(D, steps=1, max_distance=0)
        with pytest.raises(ValueError, match="steps must be at least 0, but it is -1"):
            ByDistance(D, steps=-1)


class TestStraightThrough:
    def test_the_value_is_that_of_the_inner_mark(self) -> None:
        H, inner = torch.randn(5, K, D), ByDistance(D, steps=1)
        torch.testing.assert_close(apply(StraightThrough(inner), H), apply(inner, H))

    def test_the_gradient_of_a_draws_probability_is_that_of_the_marks_strength(self) -> None:
        H, inner = torch.randn(5, K, D), Additive(D)
        log_prob = torch.full((2, K), -1.0, requires_grad=True)
        apply(StraightThrough(inner), H, DRAW._replace(log_prob=log_prob)).sum().backward()
        change = (apply(inner, H) - H).sum(-1)  # [N, K]
        of_graph = torch.stack([change[:3].sum(0), change[3:].sum(0)])
        assert log_prob.grad is not None
        torch.testing.assert_close(log_prob.grad, of_graph.detach() * math.exp(-1))


def test_marks_by_distance_with_another_default_dtype() -> None:
    """As Lightning sets with precision="64-true"."""
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        model = PFGNN(GIN(8, layers=1), 1, in_channels=1, particles=2)
        edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        assert model(torch.ones(3, 1), edges).prediction.dtype == torch.float64
    finally:
        torch.set_default_dtype(before)
