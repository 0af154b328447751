"""The gradient estimator against the gradient of the exactly enumerated expected loss."""

import math

import pytest
import torch
from tests.graph_samples import undirected
from torch import Tensor

from pfgnn.model import GIN, PFGNN, NoResampling, SoftResampling
from pfgnn.model.exact import enumerate_tree, path_predictions
from pfgnn.model.output import Output, StepTrace
from pfgnn.training import Objective, leave_one_out, no_baseline
from pfgnn.training.objective import Share

N = 4
EDGES = undirected([(0, 1), (1, 2), (2, 3)])  # no vertex has the mean degree, where a relu sits at its kink
X = torch.zeros(N, 0, dtype=torch.float64)
TARGET = 3.0


def tiny(resample: torch.nn.Module | None = None, particles: int = 1) -> PFGNN:
    torch.manual_seed(1)  # weights with which no relu is dead for all vertices
    model = PFGNN.paper(GIN(3, layers=1), 1, steps=2, particles=particles, resample=resample or NoResampling())
    model = model.double()
    with torch.no_grad():
        for p in model.policy.parameters():
            p.mul_(2)  # away from uniform, so that the draws matter
    return model


def task_loss(prediction: Tensor) -> Tensor:
    return (prediction[:, 0] - TARGET).square()


def flat_gradient(model: PFGNN, loss: Tensor) -> Tensor:
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    pairs = zip(parameters, gradients, strict=True)
    return torch.cat([torch.zeros_like(p).flatten() if g is None else g.flatten() for p, g in pairs])


def exact_expected_loss(model: PFGNN) -> Tensor:
    """Σ_I P(I) L(ỹ(I)) over all vertex sequences I."""
    tree = enumerate_tree(model, X, EDGES)
    return tree.levels[-1].log_prob.exp() @ task_loss(path_predictions(model, tree))


def many_graphs(copies: int) -> tuple[Tensor, Tensor]:
    """The same graph many times in one batch, each copy with draws of its own."""
    shift = N * torch.arange(copies)[:, None]
    return (EDGES[:, None] + shift).flatten(1), torch.arange(copies).repeat_interleave(N)


def sampled_gradients(model: PFGNN, objective: Objective, repeats: int, copies: int) -> Tensor:
    """The estimator's gradient for independent batches of independent draws: [repeats, parameters]."""
    edges, batch = many_graphs(copies)
    rows = []
    for r in range(repeats):
        key = torch.arange(copies) + r * copies
        output = model(X.repeat(copies, 1), edges, batch=batch, seed=0, graph_key=key)
        rows.append(flat_gradient(model, objective(task_loss(output.prediction), output.trace).total))
    return torch.stack(rows)


def test_exact_gradient_is_that_of_finite_differences() -> None:
    model = tiny()
    gradient = flat_gradient(model, exact_expected_loss(model))
    parameters = list(model.parameters())
    generator = torch.Generator().manual_seed(0)
    direction = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters]
    step, values = 1e-5, []
    with torch.no_grad():
        for sign in (1, -2):
            for p, d in zip(parameters, direction, strict=True):
                p.add_(d, alpha=sign * step)
            values.append(float(exact_expected_loss(model)))
    numeric = (values[0] - values[1]) / (2 * step)
    assert numeric == pytest.approx(float(gradient @ torch.cat([d.flatten() for d in direction])), rel=1e-5)


@pytest.mark.parametrize("baseline", [no_baseline, leave_one_out])
def test_expected_gradient_for_one_particle_is_exact(baseline: object) -> None:
    """K = 1, γ = 1, no resampling: within 4 standard errors in every parameter (Bonferroni p ≈ 0.005)."""
    model = tiny()
    want = flat_gradient(model, exact_expected_loss(model))
    assert callable(baseline)
    got = sampled_gradients(model, Objective(gamma=1.0, baseline=baseline), repeats=100, copies=200)
    error = got.std(0) / math.sqrt(len(got))
    assert ((got.mean(0) - want).abs() <= 4 * error + 1e-9).all()


def test_without_the_policy_term_it_is_not() -> None:
    """The control: leaving the term out gives another gradient, by far more than Monte Carlo error."""
    model = tiny()
    want = flat_gradient(model, exact_expected_loss(model))
    got = sampled_gradients(model, Objective(gamma=0.0), repeats=100, copies=200)
    error = got.std(0) / math.sqrt(len(got)) + 1e-9
    assert ((got.mean(0) - want).abs() / error).max() > 20


def test_the_baseline_lowers_the_variance() -> None:
    model = tiny()
    plain, based = (
        sampled_gradients(model, Objective(gamma=1.0, baseline=b), repeats=60, copies=20).var(0).sum()
        for b in (no_baseline, leave_one_out)
    )
    assert based < 0.5 * plain


def test_every_draw_counts_also_those_of_discarded_ancestors() -> None:
    """The policy term weighs the log-probabilities of all K T draws alike, whatever the resampling kept."""
    model = tiny(SoftResampling(1.0), particles=6)
    output = model(X, EDGES, seed=1)
    survivors = {int(a) for a in output.trace[0].ancestors[0]}
    assert len(survivors) < 6  # some ancestors are gone
    for step in output.trace:
        step.log_prob.retain_grad()
    losses = task_loss(output.prediction)
    policy = Objective(gamma=1.0, baseline=no_baseline)(losses, output.trace).policy
    policy.backward()
    for step in output.trace:
        assert step.log_prob.grad is not None
        torch.testing.assert_close(step.log_prob.grad, (losses.detach() / 6).expand(1, 6))


def test_total_is_task_plus_gamma_times_policy() -> None:
    log_prob = torch.tensor([[-1.0, -3.0], [-2.0, -2.0]])
    blank = torch.zeros(2, 2)
    trace = [StepTrace(blank, blank, log_prob, blank, blank, blank, blank)] * 2
    losses = torch.tensor([1.0, 3.0])
    loss = Objective(gamma=0.5, baseline=no_baseline)(losses, trace)
    assert float(loss.task) == 2
    assert float(loss.policy) == (1 * -4 + 3 * -4) / 2
    assert float(loss.total) == 2 + 0.5 * float(loss.policy)
    losses = torch.tensor([1.0, 2.0, 6.0])
    assert leave_one_out(losses, losses.sum(), 3).tolist() == [4.0, 3.5, 1.5]


def test_without_steps_there_is_no_policy_term() -> None:
    loss = Objective(gamma=1.0)(torch.tensor([1.0, 3.0]), [])
    assert float(loss.total) == float(loss.task) == 2


def drawn(output: Output) -> Tensor:
    """The vertices that each graph drew, numbered within it: [G, T K]."""
    first = N * torch.arange(len(output.prediction))
    return torch.cat([step.vertices[..., 0] for step in output.trace], 1) - first[:, None]


def test_copies_of_one_graph_draw_apart_in_training() -> None:
    """Else their losses were equal, and a baseline over the batch would take all of the policy's gradient away."""
    model = tiny()
    edges, batch = many_graphs(8)
    apart = model(X.repeat(8, 1), edges, batch=batch)
    assert len(drawn(apart).unique(dim=0)) > 1
    losses = task_loss(apart.prediction)
    assert losses.max() - losses.min() > 1e-6  # by far more than rounding
    alike = model(X.repeat(8, 1), edges, batch=batch, seed=1)  # with a seed given, equal graphs are treated equally
    assert len(drawn(alike).unique(dim=0)) == 1
    # One matrix product may round its rows differently, so that the predictions agree but for that.
    torch.testing.assert_close(alike.prediction, alike.prediction[:1].expand(8, 1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("baseline", [no_baseline, leave_one_out])
@pytest.mark.parametrize("parts", [[[0, 1, 2], [3, 4]], [[0, 2, 4], [1, 3, 0]], [[0, 1, 2, 3, 4], [0]]])
def test_the_mean_over_shares_is_the_whole(parts: list[list[int]], baseline: object) -> None:
    """Loss and gradients; a graph that an earlier share has only fills up."""
    assert callable(baseline)
    objective, count = Objective(gamma=0.7, baseline=baseline), 5
    losses = torch.rand(count, dtype=torch.float64, requires_grad=True)
    log_prob = torch.randn(count, 3, dtype=torch.float64, requires_grad=True)

    def trace(rows: list[int]) -> list[StepTrace]:
        blank = torch.zeros(len(rows), 3)
        return [StepTrace(blank, blank, log_prob[rows], blank, blank, blank, blank)]

    whole = objective(losses, trace(list(range(count))))
    want = torch.autograd.grad(whole.total, (losses, log_prob))
    seen: set[int] = set()
    shares = []
    for rows in parts:
        shares.append(Share(len(set(rows) - seen), count, len(parts)))
        seen |= set(rows)
    pairs = list(zip(shares, parts, strict=True))
    totals = [objective.total(losses[rows], trace(rows), share) for share, rows in pairs]
    total = torch.stack([own for own in totals if own is not None]).sum()
    of_shares = [objective(losses[rows], trace(rows), share, total=total) for share, rows in pairs]
    for name in ("total", "task", "policy"):
        mean = torch.stack([getattr(loss, name) for loss in of_shares]).mean()
        torch.testing.assert_close(mean, getattr(whole, name))
    got = torch.autograd.grad(torch.stack([loss.total for loss in of_shares]).mean(), (losses, log_prob))
    for mine, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_the_baseline_of_two_graphs_is_the_loss_of_the_other() -> None:
    losses = torch.tensor([1.0, 5.0])
    assert leave_one_out(losses, losses.sum(), 2).tolist() == [5.0, 1.0]


def test_gains_are_needed_only_for_the_credit_of_particles() -> None:
    assert Objective(0.1, credit="particle").needs_gains
    assert not Objective(0.1).needs_gains
    assert not Objective(0.0, credit="particle").needs_gains


def test_one_graph_alone_has_no_others_for_a_baseline() -> None:
    assert leave_one_out(torch.tensor([3.0]), torch.tensor(3.0), 1).tolist() == [0.0]


@pytest.mark.parametrize("shape", [(2, 1), (5,), ()])
def test_losses_of_another_shape(shape: tuple[int, ...]) -> None:
    blank = torch.zeros(2, 3)
    with pytest.raises(ValueError, match=r"losses must have one loss per graph, shape \[2\], but it has"):
        Objective()(torch.zeros(shape), [StepTrace(*[blank] * 7)])


def test_negative_gamma() -> None:
    with pytest.raises(ValueError, match="gamma must not be negative, but it is -1"):
        Objective(gamma=-1)


class TestCreditOfParticles:
    """The loss without a particle against the loss with it."""

    def trace(self, log_prob: Tensor, entropy: Tensor | None = None) -> list[StepTrace]:
        blank = torch.zeros_like(log_prob)
        return [StepTrace(blank, blank, log_prob, blank, blank if entropy is None else entropy, blank, blank)]

    def test_the_term_is_that_of_the_equation(self) -> None:
        log_prob = torch.tensor([[-1.0, -3.0]], requires_grad=True)
        losses, gains = torch.tensor([2.0]), torch.tensor([[[0.5, -1.0]]])  # the first particle helped
        loss = Objective(gamma=0.5, credit="particle")(losses, self.trace(log_prob), gains=gains)
        assert float(loss.policy.detach()) == pytest.approx(-(0.5 * -1.0 + -1.0 * -3.0) / 2)
        loss.total.backward()
        assert log_prob.grad is not None
        assert log_prob.grad[0, 0] < 0 < log_prob.grad[0, 1]  # a step downhill makes the helpful draw more likely

    def test_entropy_is_rewarded(self) -> None:
        entropy = torch.tensor([[0.5, 1.5]], requires_grad=True)
        loss = Objective(gamma=0.0, entropy=0.2)(torch.tensor([2.0]), self.trace(torch.zeros(1, 2), entropy))
        assert float(loss.total.detach()) == pytest.approx(2.0 - 0.2)
        loss.total.backward()
        assert entropy.grad is not None
        torch.testing.assert_close(entropy.grad, torch.full((1, 2), -0.1))

    def test_bad_arguments(self) -> None:
        with pytest.raises(ValueError, match="credit must be one of graph, particle, but it is 'vertex'"):
            Objective(credit="vertex")
        with pytest.raises(ValueError, match="entropy must not be negative, but it is -1"):
            Objective(entropy=-1)
        with pytest.raises(ValueError, match=r"gains must have shape \[1, 1, 2\] for credit particle, but is None"):
            Objective(credit="particle")(torch.zeros(1), self.trace(torch.zeros(1, 2)))
