import math

import pytest
import torch

from pfgnn.model.belief import Belief, effective_sample_size, initial_belief
from pfgnn.ops.segments import make_segments
from pfgnn.ops.weights import FLOOR, normalise


def test_initial_belief_is_uniform_and_kept_once() -> None:
    belief = initial_belief(torch.randn(5, 3), particles=4, num_graphs=2, track_used=True)
    assert belief.embeddings.shape == (5, 1, 3)
    assert belief.used is not None
    assert belief.used.shape == (5, 4)
    torch.testing.assert_close(belief.weights, torch.full((2, 4), 0.25))


def test_normalise_survives_what_a_product_of_weights_would_not() -> None:
    log_w = normalise(torch.tensor([[0.0, -1e5], [-1e30, -1e30]]))
    assert log_w.isfinite().all()
    assert log_w[0].tolist() == [0.0, FLOOR]
    assert log_w[1].exp().tolist() == pytest.approx([0.5, 0.5])


def test_effective_sample_size() -> None:
    log_w = normalise(torch.tensor([[0.0, 0.0, 0.0, 0.0], [0.0, -1e9, -1e9, -1e9]]))
    assert effective_sample_size(log_w).tolist() == pytest.approx([4.0, 1.0])


def test_select_gathers_everything_later_steps_read() -> None:
    batch = torch.tensor([0, 0, 1])
    H = torch.arange(6.0).view(3, 2, 1)
    used = torch.tensor([[True, False], [False, True], [True, True]])
    belief = Belief(H, torch.full((2, 2), -math.log(2)), used)
    chosen = belief.select(torch.tensor([[1, 1], [1, 0]]), belief.log_weights, make_segments(batch, 2, ordered=True))
    assert chosen.embeddings[..., 0].tolist() == [[1, 1], [3, 3], [5, 4]]
    assert chosen.used is not None
    assert chosen.used.tolist() == [[False, False], [True, True], [True, True]]


def test_weights_are_never_of_less_than_32_bits() -> None:
    for dtype, want in ((torch.bfloat16, torch.float32), (torch.float64, torch.float64)):
        assert initial_belief(torch.zeros(4, 3, dtype=dtype), 5, 1, track_used=False).log_weights.dtype == want
