import pytest
import torch

from pfgnn.data.batch import GraphBatch
from pfgnn.model import NoObservation, SetObservation

GRAPH = GraphBatch.from_tensors(None, torch.zeros(2, 0, dtype=torch.int64), None, torch.tensor([0, 0, 0, 1, 1]))


def test_it_is_a_set_function() -> None:
    H = torch.randn(5, 4, 6)
    observe = SetObservation(6)
    torch.testing.assert_close(observe(H, GRAPH), observe(H[[2, 0, 1, 4, 3]], GRAPH))
    assert observe(H, GRAPH).shape == (2, 4)


def test_scores_are_bounded_however_large_the_embeddings() -> None:
    scores = SetObservation(6, bound=2.0)(torch.randn(5, 4, 6) * 1e15, GRAPH)
    assert scores.isfinite().all()
    assert scores.abs().max() <= 2


def test_the_gradient_never_dies_at_the_bound() -> None:
    H = (torch.randn(5, 4, 6) * 3).requires_grad_()
    observe = SetObservation(6, bound=0.1)
    scores = observe(H, GRAPH)
    assert (scores.abs() > 0.09).any()  # a hard bound would have no gradient here
    [gradient] = torch.autograd.grad(scores.sum(), H)
    assert (gradient.abs().sum((0, 2)) > 0).all()


def test_off_means_equal_scores() -> None:
    assert torch.equal(NoObservation()(torch.randn(5, 4, 6), GRAPH), torch.zeros(2, 4))


def test_bound_must_be_positive() -> None:
    with pytest.raises(ValueError, match="bound must be positive, but it is 0"):
        SetObservation(6, bound=0)
