import pytest
import torch

from pfgnn.ops import segments
from pfgnn.ops.segments import (
    gather_sum,
    make_segments,
    segment_log_softmax,
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
)

VALUES = torch.tensor([[1.0, -5.0], [3.0, 2.0], [-2.0, -1.0], [4.0, 0.5], [4.0, 9.0]])
INDEX = torch.tensor([0, 0, 2, 3, 3])
SEGMENTS = make_segments(INDEX, 4, ordered=True)


def test_reductions_by_hand() -> None:
    assert segment_sum(VALUES, SEGMENTS).tolist() == [[4, -3], [0, 0], [-2, -1], [8, 9.5]]
    assert segment_mean(VALUES, SEGMENTS).tolist() == [[2, -1.5], [0, 0], [-2, -1], [4, 4.75]]
    assert segment_max(VALUES, SEGMENTS).tolist() == [[3, 2], [0, 0], [-2, -1], [4, 9]]
    assert segment_min(VALUES, SEGMENTS).tolist() == [[1, -5], [0, 0], [-2, -1], [4, 0.5]]


def test_log_softmax_is_torchs_per_segment() -> None:
    got = segment_log_softmax(VALUES, SEGMENTS)
    for segment in (0, 2, 3):
        torch.testing.assert_close(got[segment == INDEX], VALUES[segment == INDEX].log_softmax(0))


def test_extreme_scores_stay_finite() -> None:
    scores = torch.tensor([1e30, -1e30, 1e30])
    one = make_segments(torch.zeros(3, dtype=torch.int64), 1, ordered=True)
    assert segment_log_softmax(scores, one).isfinite().all()


def test_more_than_two_axes() -> None:
    values = torch.randn(5, 3, 2, 4)
    torch.testing.assert_close(segment_sum(values, SEGMENTS)[3], values[3:].sum(0))


@pytest.mark.parametrize("shape", [(), (3,), (2, 5)])
def test_the_sum_over_many_edges_in_blocks(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """With both gradients, of first and second order."""
    source, target = torch.randint(6, (40,)), torch.randint(5, (40,)).sort().values
    ends = make_segments(source, 6, ordered=False), make_segments(target, 6, ordered=True)
    x = torch.randn(6, *shape, dtype=torch.float64, requires_grad=True)
    found = []
    for at_once in (10**6, 7):
        monkeypatch.setattr(segments, "AT_ONCE", at_once)
        out = gather_sum(x, *ends)
        (first,) = torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)
        found.append((out, first, *torch.autograd.grad(first.square().sum(), x)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
