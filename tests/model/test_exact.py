"""The sampled model against the enumerated tree: Equations 1 and 2, Theorem 2, and the 1/√K rate."""

import itertools
import math

import pytest
import torch
from tests.graph_samples import random_edges, undirected
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model import GIN, PFGNN, NoObservation, NoResampling, RandomNormal, SoftResampling, UniformPolicy
from pfgnn.model.exact import (
    Level,
    enumerate_tree,
    exact_features,
    exact_prediction,
    expected_representation,
    path_predictions,
    paths_needed,
    sum_representation,
)

N, D, T = 5, 6, 2
EDGES = random_edges(N, 6)
X = torch.zeros(N, 0, dtype=torch.float64)


def build(steps: int = T, **options: object) -> PFGNN:
    settings: dict[str, object] = {"steps": steps, "observe": NoObservation(), "resample": NoResampling(), **options}
    model = PFGNN.paper(GIN(D, layers=2), 2, **settings).double().eval()  # type: ignore[arg-type]
    for p in model.parameters():
        p.requires_grad_(False)
    return model


class Opinionated(nn.Module):
    """An observation function with a clear effect."""

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        return 4 * H.mean(0, keepdim=True).sum(-1)


def sampled_features(model: PFGNN, K: int, seeds: int, edges: Tensor = EDGES) -> Tensor:
    """The input of the readout's head for several seeds, shape [seeds, (T + 1) D]."""
    rows: list[Tensor] = []
    handle = model.readout.head.register_forward_pre_hook(lambda _, args: rows.append(args[0][0]))
    for seed in range(seeds):
        model(X, edges, particles=K, seed=seed)
    handle.remove()
    return torch.stack(rows)


def test_every_path_is_there_and_its_probability_is_the_policys_product() -> None:
    model = build()
    tree = enumerate_tree(model, X, EDGES)
    assert [level.vertices.shape for level in tree.levels] == [(N**t, t) for t in range(T + 1)]
    assert [tuple(p) for p in tree.levels[-1].vertices.tolist()] == list(itertools.product(range(N), repeat=T))
    for level in tree.levels:
        assert float(level.log_prob.exp().sum()) == pytest.approx(1)
    output = model(X, EDGES, particles=50)  # sampled paths have the enumerated probabilities and colourings
    log_prob = torch.stack([step.log_prob[0] for step in output.trace]).sum(0)
    for k in range(50):
        v, w = (int(step.vertices[0, k, 0]) for step in output.trace)
        torch.testing.assert_close(log_prob[k], tree.levels[-1].log_prob[v * N + w])
        torch.testing.assert_close(output.belief.embeddings[:, k], tree.levels[-1].embeddings[:, v * N + w])


def test_masked_vertices_are_not_enumerated() -> None:
    tree = enumerate_tree(build(mask_used=True), X, EDGES)
    assert [tuple(p) for p in tree.levels[-1].vertices.tolist()] == list(itertools.permutations(range(N), T))
    assert float(tree.levels[-1].log_prob.exp().sum()) == pytest.approx(1)


def test_equations_1_and_2_are_permutation_invariant_and_agree_under_a_uniform_policy() -> None:
    model = build(policy=UniformPolicy())
    tree = enumerate_tree(model, X, EDGES)
    relabelled = enumerate_tree(model, X, torch.randperm(N)[EDGES])
    total, mean = sum_representation(tree), expected_representation(tree)
    torch.testing.assert_close(total, sum_representation(relabelled))
    torch.testing.assert_close(mean, expected_representation(relabelled))
    torch.testing.assert_close(mean, total / N**T)


def test_equation_2_separates_what_the_backbone_cannot() -> None:
    """1-WL cannot distinguish a hexagon from two triangles. The control is a hexagon and a relabelled copy of it."""
    hexagon = undirected([(i, (i + 1) % 6) for i in range(6)])
    triangles = undirected([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    x = torch.zeros(6, 0, dtype=torch.float64)
    backbone, model = build(steps=0), build(steps=1)

    def distance(of: PFGNN, other: Tensor) -> float:
        trees = [enumerate_tree(of, x, edges) for edges in (hexagon, other)]
        return float((expected_representation(trees[0]) - expected_representation(trees[1])).abs().max())

    assert distance(backbone, triangles) < 1e-12
    assert distance(model, triangles) > 1e-3
    assert distance(model, torch.randperm(6)[hexagon]) < 1e-12


def test_a_particle_alone_predicts_what_its_path_predicts() -> None:
    model = build(second_moment=True)
    predictions = path_predictions(model, enumerate_tree(model, X, EDGES))
    for seed in range(10):
        output = model(X, EDGES, particles=1, seed=seed)
        v, w = (int(step.vertices) for step in output.trace)
        torch.testing.assert_close(output.prediction[0], predictions[v * N + w])


def test_at_node_level_a_particle_alone_predicts_what_its_path_predicts() -> None:
    """There a vertex is read by its own mark, so the readout must be told which vertex that is."""
    model = PFGNN(GIN(D, layers=1), 2, steps=T, level="node").double().eval()
    predictions = path_predictions(model, enumerate_tree(model, X, EDGES)).view(N**T, N, 2)
    for seed in range(5):
        output = model(X, EDGES, particles=1, seed=seed)
        v, w = (int(step.vertices) for step in output.trace)
        torch.testing.assert_close(output.prediction, predictions[v * N + w])


@pytest.mark.slow
def test_the_error_falls_like_one_over_root_k() -> None:
    model = build()
    exact = exact_features(model, enumerate_tree(model, X, EDGES))[0]
    counts = [4, 16, 64, 256]
    errors = [float((sampled_features(model, K, 200) - exact).square().mean().sqrt()) for K in counts]
    slope = torch.tensor(errors).log().diff().mean() / math.log(4)
    assert slope == pytest.approx(-0.5, abs=0.05)


@pytest.mark.slow
def test_the_sampled_mean_is_unbiased() -> None:
    model = build()
    exact = exact_features(model, enumerate_tree(model, X, EDGES))[0]
    sampled = sampled_features(model, 4, 800)
    error = sampled.std(0) / math.sqrt(800)
    assert ((sampled.mean(0) - exact).abs() < 4.5 * error + 1e-9).all()


def test_the_error_lies_inside_theorem_2s_bound() -> None:
    """The distance of two graphs has an error above ε for at most a share δ of the seeds."""
    model, other = build(), random_edges(N, 6, seed=3)
    trees = [enumerate_tree(model, X, edges) for edges in (EDGES, other)]
    exact = [exact_features(model, tree)[0] for tree in trees]
    bound = max(float(level.embeddings.mean(0).abs().max()) for tree in trees for level in tree.levels)
    distance = float((exact[0] - exact[1]).abs().max())
    delta, epsilon = 0.1, 0.25 * bound
    K = paths_needed(bound, len(exact[0]), delta, epsilon)

    def failures(K: int) -> float:
        sampled = [sampled_features(model, K, 100, edges) for edges in (EDGES, other)]
        return float((((sampled[0] - sampled[1]).abs().amax(1) - distance).abs() >= epsilon).double().mean())

    assert failures(K) <= delta


def test_observation_and_resampling_tend_to_the_exact_weighted_belief() -> None:
    """With f_obs and soft resampling, the limit weights each path by P(I) Π f_obs. The plain mean differs from it."""
    model = build(observe=Opinionated(), resample=SoftResampling(0.5))
    tree = enumerate_tree(model, X, EDGES)
    exact = exact_features(model, tree)[0]
    unweighted = exact_features(model, tree._replace(levels=[_unobserved(level) for level in tree.levels]))[0]
    error = float((sampled_features(model, 20_000, 4).mean(0) - exact).abs().max())
    assert error < 0.02 * float((exact - unweighted).abs().max())
    torch.testing.assert_close(exact_prediction(model, tree), model.readout.head(exact[None]))


def _unobserved(level: Level) -> Level:
    return level._replace(log_observation=torch.zeros_like(level.log_observation))


def test_theorem_2_by_hand() -> None:
    assert paths_needed(bound=1, dimensions=64, delta=0.05, epsilon=0.1) == math.ceil(800 * math.log(5120))
    assert paths_needed(bound=3, dimensions=64, delta=0.05, epsilon=0.1) == math.ceil(7200 * math.log(5120))
    assert paths_needed(1, 64, 0.05, 0.05) == pytest.approx(4 * paths_needed(1, 64, 0.05, 0.1), abs=4)
    for name, arguments in {"bound": (0, 1, 0.1, 0.1), "delta": (1, 1, 1.0, 0.1), "epsilon": (1, 1, 0.1, 0.0)}.items():
        with pytest.raises(ValueError, match=f"{name} must be positive"):
            paths_needed(*arguments)


def test_what_cannot_be_enumerated() -> None:
    with pytest.raises(ValueError, match="enumeration needs one graph"):
        enumerate_tree(build(individualise=RandomNormal(D)), X, EDGES)
    with pytest.raises(ValueError, match="vertices=2"):
        enumerate_tree(build(vertices_per_step=2), X, EDGES)
