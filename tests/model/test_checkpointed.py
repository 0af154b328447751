"""`torch.utils.checkpoint` around a model: the pass that is computed again makes the same draws, or it is refused."""

import pytest
import torch
from tests.graph_samples import random_graph
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from pfgnn.model import GIN, PFGNN
from pfgnn.model.rivals import RNI

X, EDGES, _ = random_graph(7, 9, 3)


def gradients(model: torch.nn.Module, loss: Tensor) -> list[Tensor]:
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


@pytest.mark.parametrize("kind", ["pfgnn", "rni"])
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_without_a_seed_it_is_refused(kind: str, use_reentrant: bool) -> None:
    model = PFGNN(GIN(4), 1, in_channels=3, particles=2) if kind == "pfgnn" else RNI(GIN(4), 1, in_channels=3)
    x = X.clone().requires_grad_()
    out = checkpoint(lambda x: model(x, EDGES).prediction, x, use_reentrant=use_reentrant)
    with pytest.raises(ValueError, match="seed must be given if a training pass is computed again in the backward"):
        out.sum().backward()


@pytest.mark.slow
def test_a_compiled_pass_is_refused_too() -> None:
    model = PFGNN(GIN(4), 1, in_channels=3, particles=2)
    compiled = torch.compile(model, backend="eager")
    compiled(X, EDGES, batch_size=1).prediction.sum().backward()  # alone it is right, and counts its passes
    assert model.passes == 1
    out = checkpoint(lambda x: compiled(x, EDGES, batch_size=1).prediction, X, use_reentrant=False)
    assert model.passes == 2
    with pytest.raises(ValueError, match="seed must be given if a training pass is computed again in the backward"):
        out.sum().backward()


@pytest.mark.parametrize("training", [True, False])
def test_with_a_seed_and_in_evaluation_the_gradient_is_right(training: bool) -> None:
    model = PFGNN(GIN(4, norm="graph"), 1, in_channels=3, particles=2).train(training)
    seed = 3 if training else None
    want = gradients(model, model(X, EDGES, seed=seed).prediction.sum())
    out = checkpoint(lambda x: model(x, EDGES, seed=seed).prediction, X, use_reentrant=False)
    found = gradients(model, out.sum())
    assert len(found) == len(want)
    for got, right in zip(found, want, strict=True):
        torch.testing.assert_close(got, right)


def test_a_pass_after_a_backward_pass_draws_anew_as_before() -> None:
    model = PFGNN(GIN(4), 1, in_channels=3, particles=1)
    drawn = []
    for _ in range(20):
        output = model(X, EDGES)
        output.prediction.sum().backward()
        drawn.append(int(output.trace[0].vertices))
    assert len(set(drawn)) > 1
