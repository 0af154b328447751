"""Statistical tests of resampling, over many independent graphs, each at a stated number of standard errors."""

import math

import pytest
import torch
from torch import Tensor, nn

from pfgnn.model import ESSResampling, NoResampling, SoftResampling, SystematicResampling
from pfgnn.model.belief import Belief, effective_sample_size
from pfgnn.model.randomness import Noise, make_noise
from pfgnn.ops.segments import make_segments
from pfgnn.ops.weights import normalise

G, K = 20_000, 4
WEIGHTS = torch.tensor([0.55, 0.3, 0.1, 0.05], dtype=torch.float64)
BATCH = torch.arange(G)
SOFT = [SoftResampling(a) for a in (0.0, 0.3, 0.5, 1.0)] + [SystematicResampling(a) for a in (0.0, 0.5, 1.0)]


def names(resampler: nn.Module) -> str:
    return f"{type(resampler).__name__}({getattr(resampler, 'alpha', '')})"


def noise(seed: int = 0) -> Noise:
    return make_noise(seed, BATCH, torch.zeros_like(BATCH), make_segments(BATCH, len(BATCH), ordered=True))


def belief(log_weights: Tensor | None = None) -> Belief:
    """One node per graph, whose embedding in particle k is the number k."""
    H = torch.arange(K, dtype=torch.float64)[None, :, None].expand(G, K, 1)
    log_w = WEIGHTS.log().expand(G, K) if log_weights is None else log_weights
    return Belief(H, log_w, None)


def assert_mean(values: Tensor, want: Tensor, sigmas: float = 4.5) -> None:
    """Assert that the mean over graphs [G, ...] is as wanted, up to the Monte Carlo error."""
    error = values.std(0) / math.sqrt(len(values))
    assert ((values.mean(0) - want).abs() <= sigmas * error + 1e-12).all()


@pytest.mark.parametrize("resampler", SOFT, ids=names)
def test_offspring_counts_are_unbiased(resampler: SoftResampling) -> None:
    ancestors, _ = resampler.draw(belief().log_weights, noise(), 1)
    counts = nn.functional.one_hot(ancestors, K).sum(1).double()
    assert_mean(counts, K * (resampler.alpha * WEIGHTS + (1 - resampler.alpha) / K))


@pytest.mark.parametrize("resampler", SOFT, ids=names)
def test_importance_weights_are_unbiased(resampler: SoftResampling) -> None:
    """E[Σ_k w'_k 1(a_k = j)] = w_j: every expectation under the belief is kept."""
    ancestors, log_w = resampler.draw(belief().log_weights, noise(), 1)
    mass = (nn.functional.one_hot(ancestors, K) * log_w.exp()[..., None]).sum(1)
    assert_mean(mass, WEIGHTS)


def estimate(K: int, alpha: float) -> Tensor:
    """The belief's mean after resampling K particles of value and weight k, for each of G graphs, normalised."""
    value = torch.arange(1, K + 1, dtype=torch.float64)
    log_w = (value / value.sum()).log().expand(G, K)
    many = Belief(value[None, :, None].expand(G, K, 1), log_w, None)
    resampled, _ = SoftResampling(alpha)(many, noise(), 1)
    return (resampled.weights * resampled.embeddings[..., 0]).sum(1) / (value * value / value.sum()).sum()


def test_the_normalised_estimate_is_exact_for_alpha_one() -> None:
    assert_mean(estimate(4, alpha=1.0), torch.tensor(1.0))


def test_else_its_bias_falls_with_the_number_of_particles() -> None:
    """w / q is normalised over K. This is a ratio estimate, with a bias of order 1/K."""
    few, many = (abs(float(estimate(K, alpha=0.5).mean()) - 1) for K in (4, 64))
    assert few > 0.01
    assert many < few / 8


@pytest.mark.parametrize("resampler", [SoftResampling(0.5), SystematicResampling(0.5)], ids=names)
def test_each_step_draws_anew(resampler: SoftResampling) -> None:
    first, second = (resampler.draw(belief().log_weights, noise(), step)[0] for step in (1, 2))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("resampler", [*SOFT, NoResampling(), ESSResampling(SoftResampling(), 1.0)], ids=names)
def test_weights_are_normalised_and_the_embeddings_follow(resampler: nn.Module) -> None:
    resampled, ancestors = resampler(belief(), noise(), 1)
    torch.testing.assert_close(resampled.weights.sum(1), torch.ones(G, dtype=torch.float64))
    assert torch.equal(resampled.embeddings[..., 0], ancestors.double())


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 0.9])
def test_gradient_flows_through_soft_weights(alpha: float) -> None:
    assert gradient(SoftResampling(alpha)).abs().max() > 1e-4


def test_gradient_is_zero_with_alpha_one() -> None:
    assert torch.equal(gradient(SoftResampling(1.0)), torch.zeros(G, K, dtype=torch.float64))


def gradient(resampler: SoftResampling) -> Tensor:
    scores = WEIGHTS.log().repeat(G, 1).requires_grad_()
    resampled, _ = resampler(belief(normalise(scores)), noise(), 1)
    (resampled.weights * resampled.embeddings[..., 0]).sum().backward()
    assert scores.grad is not None
    return scores.grad


def test_systematic_counts_are_within_one_of_their_expectation() -> None:
    ancestors, _ = SystematicResampling(1.0).draw(belief().log_weights, noise(), 1)
    counts = nn.functional.one_hot(ancestors, K).sum(1)
    assert ((counts - K * WEIGHTS).abs() < 1).all()


def test_ess_threshold_decides_graph_by_graph() -> None:
    log_w = belief().log_weights.clone()
    log_w[: G // 2] = -math.log(K)  # uniform: ESS = K
    resampler = ESSResampling(SoftResampling(1.0), threshold=0.75)
    assert effective_sample_size(log_w)[-1] < 0.75 * K
    resampled, ancestors = resampler(belief(log_w), noise(), 1)
    assert torch.equal(ancestors[: G // 2], torch.arange(K).expand(G // 2, K))
    assert torch.equal(resampled.log_weights[: G // 2], log_w[: G // 2])
    torch.testing.assert_close(resampled.weights[G // 2 :], torch.full((G // 2, K), 1 / K, dtype=torch.float64))


@pytest.mark.parametrize("particles", [3, 5, 7, 8, 11])
def test_uniform_weights_are_never_below_the_threshold(particles: int) -> None:
    log_w = torch.full((G, particles), -math.log(particles))
    uniform = Belief(torch.zeros(G, particles, 1), log_w, None)
    _, ancestors = ESSResampling(SoftResampling(), threshold=1.0)(uniform, noise(), 1)
    assert torch.equal(ancestors, torch.arange(particles).expand(G, particles))


def test_no_resampling_is_the_identity() -> None:
    resampled, ancestors = NoResampling()(belief(), noise(), 1)
    assert torch.equal(resampled.embeddings, belief().embeddings)
    assert torch.equal(ancestors, torch.arange(K).expand(G, K))


@pytest.mark.parametrize("log_gap", [0.0, 50.0, 1e4])
def test_degenerate_weights_stay_finite(log_gap: float) -> None:
    log_w = normalise(torch.tensor([[0.0, -log_gap, -log_gap, -log_gap]]).expand(G, K))
    for resampler in SOFT:
        resampled, _ = resampler(belief(log_w), noise(), 1)
        assert resampled.log_weights.isfinite().all()


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], but it is 1.5"):
        SoftResampling(1.5)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], but it is -0.1"):
        SystematicResampling(-0.1)
    with pytest.raises(TypeError, match="inner must be a SoftResampling or SystematicResampling, but it is NoRes"):
        ESSResampling(NoResampling())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"threshold must lie in \[0, 1\], but it is 2"):
        ESSResampling(SoftResampling(), 2)
