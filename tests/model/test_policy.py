import itertools
import math

import pytest
import torch
from tests.graph_samples import random_edges
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.model import GIN, CentralityPolicy, GNNPolicy, MLPPolicy, UniformPolicy
from pfgnn.model.policy import Vertices, allowed_vertices, draw_vertices, mark_used
from pfgnn.model.randomness import Noise, default_node_key, make_noise

MANY = 40_000


def setting(sizes: list[int]) -> tuple[GraphBatch, Noise]:
    batch = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    graph = GraphBatch.from_tensors(None, torch.zeros(2, 0, dtype=torch.int64), None, batch)
    return graph, make_noise(0, torch.arange(len(sizes)), default_node_key(graph), graph.nodes)


def draw(scores: Tensor, sizes: list[int], m: int = 1, free: Tensor | None = None, K: int = MANY) -> Vertices:
    graph, noise = setting(sizes)
    return draw_vertices(scores, free, graph, noise, 1, torch.arange(K), m)


def assert_frequencies(counts: Tensor, probabilities: Tensor) -> None:
    """Pearson's chi-square at p = 0.001 (Wilson-Hilferty's quantile)."""
    degrees = len(counts) - 1
    expected = probabilities * counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic < degrees * (1 - 2 / (9 * degrees) + 3.09 * math.sqrt(2 / (9 * degrees))) ** 3


def test_vertices_follow_the_softmax_of_the_scores() -> None:
    scores = torch.tensor([0.0, 1.0, -1.0, 2.0, 0.5, 0.5])[:, None]
    result = draw(scores, [4, 2])
    assert_frequencies(torch.bincount(result.vertices[0, :, 0], minlength=4), scores[:4, 0].softmax(0))
    assert_frequencies(torch.bincount(result.vertices[1, :, 0] - 4, minlength=2), scores[4:, 0].softmax(0))
    torch.testing.assert_close(result.log_prob[0], scores[:4, 0].log_softmax(0)[result.vertices[0, :, 0]])


def test_several_at_once_are_distinct_and_follow_plackett_luce() -> None:
    p = torch.tensor([0.1, 0.2, 0.3, 0.4])
    result = draw(p.log()[:, None], [4], m=2)
    pairs = list(itertools.permutations(range(4), 2))
    want = torch.tensor([float(p[i] * p[j] / (1 - p[i])) for i, j in pairs])
    position = {pair: number for number, pair in enumerate(pairs)}
    drawn = torch.tensor([position[tuple(pair)] for pair in result.vertices[0].tolist()])
    assert_frequencies(torch.bincount(drawn, minlength=len(pairs)), want)
    torch.testing.assert_close(result.log_prob[0], want.log()[drawn])


def test_a_graph_smaller_than_m_gives_what_it_has() -> None:
    result = draw(torch.zeros(5, 1), [2, 3], m=3, K=7)
    assert result.valid.sum(-1).tolist() == [[2] * 7, [3] * 7]
    assert result.log_prob[0].exp().tolist() == pytest.approx([0.5] * 7)
    assert result.log_prob[1].exp().tolist() == pytest.approx([1 / 6] * 7)


def test_used_vertices_are_not_drawn_while_there_are_others() -> None:
    graph, _ = setting([3, 2])
    used: Tensor | None = torch.zeros(5, 20, dtype=torch.bool)
    seen = []
    for step in range(3):
        noise = make_noise(step, torch.arange(2), torch.tensor([0, 1, 2, 0, 1]), graph.nodes)
        result = draw_vertices(torch.zeros(5, 1), allowed_vertices(used, graph), graph, noise, 1, torch.arange(20), 1)
        used = mark_used(used, result.vertices, result.valid)
        seen.append(result.vertices[..., 0])
    for k in range(20):
        assert sorted(int(v[0, k]) for v in seen) == [0, 1, 2]
        assert sorted(int(v[1, k]) for v in seen[:2]) == [3, 4]
        assert int(seen[2][1, k]) in (3, 4)  # both are used by then, so both are allowed again


def test_several_at_once_are_all_marked_used() -> None:
    graph, noise = setting([3, 2])
    used: Tensor | None = torch.zeros(5, 50, dtype=torch.bool)
    for step in (1, 2):
        result = draw_vertices(
            torch.zeros(5, 1), allowed_vertices(used, graph), graph, noise, step, torch.arange(50), 2
        )
        used = mark_used(used, result.vertices, result.valid)
    assert used is not None
    assert used.all()


def test_log_probabilities_carry_the_gradient() -> None:
    scores = torch.zeros(4, 1, requires_grad=True)
    draw(scores, [4], m=2, K=5).log_prob.sum().backward()
    assert scores.grad is not None
    assert scores.grad.abs().sum() > 0


@pytest.mark.parametrize("policy", [MLPPolicy(6), GNNPolicy(GIN(6, 1), 6), UniformPolicy(), CentralityPolicy()])
def test_scores_have_one_number_per_node_and_particle(policy: torch.nn.Module) -> None:
    graph = GraphBatch.from_tensors(torch.zeros(5, 0), random_edges(5, 6), None, None)
    assert policy(torch.randn(5, 3, 6), graph).shape == (5, 3)


def test_gnn_policy_sees_the_neighbours_and_the_mlp_policy_does_not() -> None:
    graph = GraphBatch.from_tensors(torch.zeros(2, 0), torch.tensor([[0], [1]]), None, None)
    H = torch.randn(2, 1, 6)
    changed = H.clone()
    changed[0] += 1
    mlp, gnn = MLPPolicy(6), GNNPolicy(GIN(6, 1, norm="none"), 6)
    torch.testing.assert_close(mlp(H, graph)[1], mlp(changed, graph)[1])
    assert not torch.allclose(gnn(H, graph)[1], gnn(changed, graph)[1])


def test_centrality_counts_walks() -> None:
    edges = random_edges(6, 8)
    graph = GraphBatch.from_tensors(torch.zeros(6, 0), edges, None, None)
    A = torch.zeros(6, 6)
    A[edges[1], edges[0]] = 1
    walks = torch.linalg.matrix_power(A, 3) @ torch.ones(6)
    torch.testing.assert_close(CentralityPolicy(3)(torch.zeros(6, 1, 2), graph)[:, 0], walks.clamp(min=1).log() / 3)
    with pytest.raises(ValueError, match="length must be at least 1, but it is 0"):
        CentralityPolicy(0)
