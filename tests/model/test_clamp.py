import torch

from pfgnn.model.clamp import bounded


def test_the_squares_of_a_million_bounded_numbers_have_a_finite_sum() -> None:
    largest = bounded(torch.tensor([torch.inf, -torch.inf]))
    assert largest.tolist() == [float(torch.tensor(1e16)), -float(torch.tensor(1e16))]
    assert (largest.square() * 1e6).isfinite().all()
    assert bounded(torch.tensor([torch.inf], dtype=torch.float16)).isfinite().all()
    assert bounded(torch.tensor([1e9, -3.0])).tolist() == [1e9, -3.0]
