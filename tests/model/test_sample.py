"""Draws without replacement: unbiased, with less variance than with replacement, and exact if all paths are drawn."""

import math

import pytest
import torch
from tests.graph_samples import circulant_edges, random_edges, undirected
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.model import (
    GIN,
    PFGNN,
    Distinct,
    Exchange,
    Independent,
    MeanParticle,
    MLPPolicy,
    SetObservation,
    SystematicResampling,
    Top,
    UniformPolicy,
)
from pfgnn.model.belief import Belief
from pfgnn.model.exact import enumerate_tree, exact_features, exact_prediction
from pfgnn.model.randomness import Noise, default_node_key, make_noise
from pfgnn.model.sample import Draw
from pfgnn.ops.weights import normalise

MANY = 4000
N = 5
GRAPHS = {
    "path": undirected([(0, 1), (1, 2), (2, 3), (3, 4)]),
    "random": random_edges(N, 6),
    "triangle and edge": undirected([(0, 1), (1, 2), (2, 0), (3, 4)]),
    "star": undirected([(0, 1), (0, 2), (0, 3), (0, 4)]),
}
SKEWED = torch.tensor([2.0, 0.5, -1.0, 0.0, -3.0], dtype=torch.float64)
SCORES = {"uniform": torch.zeros(N, dtype=torch.float64), "skewed": SKEWED}


def copies(edges: Tensor, n: int, many: int = MANY) -> tuple[GraphBatch, Noise]:
    """The same graph many times in one batch. Each copy has its own draws."""
    shift = n * torch.arange(many)[:, None]
    graph = GraphBatch.from_tensors(
        None, (edges[:, None] + shift).flatten(1), None, torch.arange(many).repeat_interleave(n)
    )
    return graph, make_noise(0, torch.arange(many), default_node_key(graph), graph.nodes)


def first_step(scores: Tensor, K: int, edges: Tensor, sample: torch.nn.Module | None = None, many: int = MANY) -> Draw:
    """A draw for many copies of a graph whose particles are still equal."""
    graph, noise = copies(edges, len(scores), many)
    belief = Belief(torch.zeros(len(graph.batch), 1, 1), torch.full((many, K), -math.log(K)).double(), None)
    return (sample or Distinct())(scores.repeat(many)[:, None], belief, graph, noise, 1)


def weight_of_each_vertex(draw: Draw, n: int) -> Tensor:
    """For each vertex, the sum of the weights of the particles that drew it, shape [copies, n]."""
    place = draw.vertices[..., 0] - n * torch.arange(len(draw.vertices))[:, None]
    return torch.zeros(len(place), n, dtype=torch.float64).scatter_add(1, place, draw.log_weights.exp())


class TestOneStep:
    @pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
    @pytest.mark.parametrize("K", [1, 2, 3, 4])
    def test_the_expected_weight_of_a_vertex_is_its_probability(self, scores: Tensor, K: int) -> None:
        w = weight_of_each_vertex(first_step(scores, K, GRAPHS["random"]), N)
        error = w.std(0) / math.sqrt(MANY)
        assert ((w.mean(0) - scores.softmax(0)).abs() < 4.5 * error + 1e-9).all()

    @pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
    @pytest.mark.parametrize("K", [5, 6, 9])
    def test_with_as_many_particles_as_vertices_nothing_is_left_to_chance(self, scores: Tensor, K: int) -> None:
        draw = first_step(scores, K, GRAPHS["path"], many=20)
        torch.testing.assert_close(weight_of_each_vertex(draw, N), scores.softmax(0).expand(20, -1))
        assert (draw.log_weights.exp() > 1e-6).sum(1).tolist() == [N] * 20  # the other places have no weight

    @pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
    def test_the_vertices_are_distinct_and_the_weights_add_up_to_one(self, scores: Tensor) -> None:
        draw = first_step(scores, 3, GRAPHS["star"], many=200)
        assert all(len(set(row.tolist())) == 3 for row in draw.vertices[..., 0])
        torch.testing.assert_close(draw.log_weights.exp().sum(1), torch.ones(200, dtype=torch.float64))

    def test_a_likely_vertex_is_kept_with_its_own_weight_and_the_others_share_the_rest(self) -> None:
        draw = first_step(SKEWED, 2, GRAPHS["path"], many=200)
        p = SKEWED.softmax(0)
        first, second = draw.log_weights.exp().sort(1, descending=True).values.T
        torch.testing.assert_close(first, p[0].expand(200))
        torch.testing.assert_close(second, (1 - p[0]).expand(200))

    def test_a_vertex_without_probability_is_never_drawn(self) -> None:
        scores = torch.tensor([0.0, 0.0, -1e30, 0.0, -1e30], dtype=torch.float64)
        for K in (2, 3, 5):
            drawn = first_step(scores, K, GRAPHS["path"], many=100).vertices[..., 0] % N
            assert set(drawn.flatten().tolist()) == {0, 1, 3}

    def test_a_graphs_draws_do_not_depend_on_its_batch(self) -> None:
        whole, part = (first_step(SKEWED, 2, GRAPHS["random"], many=many) for many in (50, 20))
        assert torch.equal(whole.vertices[:20], part.vertices)
        torch.testing.assert_close(whole.log_weights[:20], part.log_weights)

    def test_the_gradient_through_the_weights_is_that_of_the_expectation(self) -> None:
        """It is exact with all vertices, and nearly exact with fewer, where it compares only the drawn ones."""
        f = torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0], dtype=torch.float64)
        for K, near in ((N, 1e-9), (4, 0.15)):
            scores = SKEWED.clone().requires_grad_()
            (exact,) = torch.autograd.grad(scores.softmax(0) @ f, scores)
            draw = first_step(scores, K, GRAPHS["random"], many=1000)
            value = (draw.log_weights.exp() * f[draw.vertices[..., 0] % N]).sum(1).mean()
            (found,) = torch.autograd.grad(value, scores)
            assert (found - exact).abs().max() < near * exact.abs().max()

    def test_the_entropy_is_the_policys_and_has_its_gradient(self) -> None:
        scores = SKEWED.clone().requires_grad_()
        draw = first_step(scores, 3, GRAPHS["random"], many=4)
        p = scores.softmax(0)
        assert draw.entropy is not None
        torch.testing.assert_close(draw.entropy, -(p * p.log()).sum().expand(4, 3))
        (found,) = torch.autograd.grad(draw.entropy.mean(), scores)
        (want,) = torch.autograd.grad(-(p * p.log()).sum(), scores)
        torch.testing.assert_close(found, want)

    def test_a_resampling_after_it_draws_from_other_numbers(self) -> None:
        """With one random number for both, the resampling would depend on the draws."""
        graph, noise = copies(GRAPHS["random"], N, MANY)
        belief = Belief(torch.zeros(len(graph.batch), 1, 1), torch.full((MANY, 3), -math.log(3)).double(), None)
        draw = Distinct()(SKEWED.repeat(MANY)[:, None], belief, graph, noise, 1)
        ancestors, log_w = SystematicResampling(1.0).draw(draw.log_weights, noise, 1)
        place = draw.vertices[..., 0].gather(1, ancestors) % N
        w = torch.zeros(MANY, N, dtype=torch.float64).scatter_add(1, place, log_w.exp())
        assert ((w.mean(0) - SKEWED.softmax(0)).abs() < 4.5 * w.std(0) / math.sqrt(MANY) + 1e-9).all()

    def test_smoothing_spreads_the_vertices_over_the_graph(self) -> None:
        """On a cycle, the mean of a smooth function has less variance than in a random order, and no bias."""
        n, K = 30, 5
        f = torch.cos(2 * math.pi * torch.arange(n) / n).double() + 2
        variances = []
        for rounds in (0, 16):
            draw = first_step(torch.zeros(n).double(), K, circulant_edges(n, 1), Distinct(rounds), many=2000)
            mean = weight_of_each_vertex(draw, n) @ f
            assert abs(float(mean.mean()) - 2) < 4.5 * float(mean.std()) / math.sqrt(2000)
            variances.append(float(mean.var()))
        assert variances[1] < 0.7 * variances[0]

    def test_bad_arguments(self) -> None:
        with pytest.raises(ValueError, match="smoothing must be at least 0, but it is -1"):
            Distinct(-1)


class TestTop:
    @pytest.mark.parametrize("K", [1, 2, 4, 5, 7])
    def test_the_most_probable_vertices_are_kept_with_their_share(self, K: int) -> None:
        draw = first_step(SKEWED, K, GRAPHS["path"], Top(), many=20)
        best = SKEWED.softmax(0).topk(min(K, N))
        want = torch.zeros(N, dtype=torch.float64).scatter(0, best.indices, best.values / best.values.sum())
        torch.testing.assert_close(weight_of_each_vertex(draw, N), want.expand(20, -1))
        assert (draw.log_weights.exp() > 1e-6).sum(1).tolist() == [min(K, N)] * 20

    def test_chance_decides_between_equal_ones_alone(self) -> None:
        scores = torch.tensor([1.0, 0.0, 0.0, 0.0, -2.0], dtype=torch.float64)
        drawn = first_step(scores, 2, GRAPHS["star"], Top()).vertices[..., 0] % N
        assert (drawn == 0).sum(1).tolist() == [1] * MANY  # drawn every time
        times = torch.bincount(drawn.flatten(), minlength=N)
        assert times[4] == 0
        assert ((times[1:4] / MANY - 1 / 3).abs() < 4.5 * math.sqrt(2 / 9 / MANY)).all()

    def test_a_vertex_without_probability_is_never_kept(self) -> None:
        scores = torch.tensor([0.0, 0.0, -1e30, 0.0, -1e30], dtype=torch.float64)
        drawn = first_step(scores, 4, GRAPHS["path"], Top(), many=100).vertices[..., 0] % N
        assert set(drawn.flatten().tolist()) == {0, 1, 3}
        scores = torch.tensor([0.0, -40 * math.log(2), -1e30, -1e30, -1e30], dtype=torch.float64)  # but 2^-40 is some
        assert (first_step(scores, 2, GRAPHS["path"], Top(), many=5).log_weights.min(1).values > -28).all()

    def test_the_gradient_is_that_of_the_shares(self) -> None:
        f = torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0], dtype=torch.float64)
        scores = SKEWED.clone().requires_grad_()
        best = scores.softmax(0).topk(3)
        (want,) = torch.autograd.grad(best.values / best.values.sum() @ f[best.indices], scores)
        draw = first_step(scores, 3, GRAPHS["random"], Top(), many=4)
        (found,) = torch.autograd.grad((draw.log_weights.exp() * f[draw.vertices[..., 0] % N]).sum(1).mean(), scores)
        torch.testing.assert_close(found, want)

    @pytest.mark.parametrize("steps", [1, 2, 3])
    def test_it_keeps_the_best_paths_of_the_tree_and_needs_no_seed(self, steps: int) -> None:
        """It is exact with all paths. With fewer it is the same every time, because all leaves of a star are equal."""
        model, edges = build(steps, "mlp", Top()), GRAPHS["star"]
        for K in (1, 4):
            few = sampled(model, edges, K, 5)
            torch.testing.assert_close(few, few[:1].expand(5, -1))
        assert not torch.allclose(few[0], exact(model, edges))
        torch.testing.assert_close(sampled(model, edges, N**steps, 1)[0], exact(model, edges))

    def test_masking_never_repeats_a_vertex(self) -> None:
        model = PFGNN(GIN(6, layers=1), 1, steps=3, particles=6, mask_used=True, sample=Top()).eval()
        trace = model(torch.zeros(N, 0), GRAPHS["star"]).trace
        paths = [[int(trace[0].vertices[0, k, 0])] for k in range(6)]
        for step in trace[1:]:
            paths = [[*paths[int(step.parents[0, k])], int(step.vertices[0, k, 0])] for k in range(6)]
        assert all(len(set(path)) == 3 for path in paths)


def build(steps: int, policy: str, sample: torch.nn.Module) -> PFGNN:
    """A model whose colourings do not depend on which other paths were drawn."""
    torch.manual_seed(1)
    chosen = UniformPolicy() if policy == "uniform" else MLPPolicy(6)
    read = MeanParticle(6, steps, 2)
    model = PFGNN(GIN(6, layers=1), 2, steps=steps, policy=chosen, sample=sample, exchange=False, readout=read)
    model = model.double().eval()
    for p in model.parameters():
        p.requires_grad_(False)
    for p in model.policy.parameters():
        p.mul_(3)  # away from uniform
    return model


def sampled(model: PFGNN, edges: Tensor, K: int, many: int) -> Tensor:
    """The features of many independent draws: [many, F]."""
    graph, _ = copies(edges, N, many)
    x = torch.zeros(len(graph.batch), 0, dtype=torch.float64)
    return model(x, graph.edge_index, batch=graph.batch, particles=K, seed=0, graph_key=torch.arange(many)).embedding


def exact(model: PFGNN, edges: Tensor) -> Tensor:
    return exact_features(model, enumerate_tree(model, torch.zeros(N, 0, dtype=torch.float64), edges))[0]


class TestPaths:
    @pytest.mark.slow
    @pytest.mark.parametrize("policy", ["uniform", "mlp"])
    @pytest.mark.parametrize("steps", [1, 2, 3])
    def test_no_bias_and_less_variance_than_with_replacement(self, steps: int, policy: str) -> None:
        distinct, independent = build(steps, policy, Distinct()), build(steps, policy, Independent())
        independent.load_state_dict(distinct.state_dict())
        for edges in GRAPHS.values():
            want = exact(distinct, edges)
            f = sampled(distinct, edges, 4, MANY)
            assert ((f.mean(0) - want).abs() < 4.5 * f.std(0) / math.sqrt(MANY) + 1e-9).all()
            assert float(f.var(0).sum()) < float(sampled(independent, edges, 4, MANY).var(0).sum())

    @pytest.mark.parametrize("policy", ["uniform", "mlp"])
    @pytest.mark.parametrize("steps", [1, 2, 3])
    def test_exact_with_as_many_particles_as_paths(self, steps: int, policy: str) -> None:
        model = build(steps, policy, Distinct())
        want = exact(model, GRAPHS["random"]).expand(3, -1)
        for K in (N**steps, N**steps + 2):
            torch.testing.assert_close(sampled(model, GRAPHS["random"], K, 3), want)

    @pytest.mark.parametrize("level", ["graph", "node"])
    @pytest.mark.parametrize("steps", [1, 2])
    def test_a_prediction_needs_no_seed_once_all_paths_are_there(self, steps: int, level: str) -> None:
        """With exchange and observation too. With fewer particles the prediction is not the same every time."""
        told = Exchange(6, mean=True)
        seen = SetObservation(6)
        model = PFGNN(GIN(6, layers=1), 2, steps=steps, level=level, exchange=told, observe=seen).double().eval()
        x = torch.zeros(N, 0, dtype=torch.float64)
        want = exact_prediction(model, enumerate_tree(model, x, GRAPHS["random"]))
        for seed in range(3):
            torch.testing.assert_close(model(x, GRAPHS["random"], particles=N**steps, seed=seed).prediction, want)
        few = [model(x, GRAPHS["random"], particles=2, seed=seed).prediction for seed in range(5)]
        assert any(not torch.allclose(one, few[0]) for one in few[1:])

    def test_paths_are_distinct_and_their_parents_are_told(self) -> None:
        model = build(3, "mlp", Distinct())
        trace = model(torch.zeros(N, 0).double(), GRAPHS["random"], particles=20).trace
        paths = [[int(step.vertices[0, k, 0])] for step in trace[:1] for k in range(20)]
        for step in trace[1:]:
            paths = [[*paths[int(step.parents[0, k])], int(step.vertices[0, k, 0])] for k in range(20)]
        live = [tuple(path) for path, w in zip(paths, trace[-1].log_weights[0], strict=True) if w > -50]
        assert len(set(live)) == len(live) == 20

    def test_with_equal_weights_every_particle_goes_on(self) -> None:
        trace = build(2, "uniform", Distinct())(torch.zeros(N, 0).double(), GRAPHS["star"], particles=4).trace
        assert sorted(trace[1].parents[0].tolist()) == [0, 1, 2, 3]

    def test_an_observation_moves_particles_to_heavy_paths(self) -> None:
        """The weights after a step decide how many children a path has: no other resampling is needed."""
        graph, noise = copies(GRAPHS["random"], N, 300)
        w = normalise(torch.tensor([[4.0, 0.0, 0.0, 0.0]], dtype=torch.float64)).expand(300, -1)
        belief = Belief(torch.zeros(300 * N, 4, 1), w, None)
        draw = Distinct()(torch.zeros(300 * N, 4, dtype=torch.float64), belief, graph, noise, 2)
        assert draw.parents is not None
        assert (draw.parents == 0).double().mean() == pytest.approx(float(w[0, 0].exp()), abs=0.03)  # most of four
        shares = torch.zeros(300, 4, dtype=torch.float64).scatter_add(1, draw.parents, draw.log_weights.exp())
        error = shares.std(0) / math.sqrt(300)
        assert ((shares.mean(0) - w[0].exp()).abs() < 4.5 * error + 1e-9).all()

    def test_masking_never_repeats_a_vertex(self) -> None:
        model = PFGNN(GIN(6, layers=1), 1, steps=3, particles=10, mask_used=True).eval()
        trace = model(torch.zeros(N, 0), GRAPHS["star"]).trace
        paths = [[int(trace[0].vertices[0, k, 0])] for k in range(10)]
        for step in trace[1:]:
            paths = [[*paths[int(step.parents[0, k])], int(step.vertices[0, k, 0])] for k in range(10)]
        assert all(len(set(path)) == 3 for path in paths)
