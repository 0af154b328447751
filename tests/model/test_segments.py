import torch

from pfgnn.model import segments

VALUES = torch.tensor([[1.0, -5.0], [3.0, 2.0], [-2.0, -1.0], [4.0, 0.5], [4.0, 9.0]])
INDEX = torch.tensor([0, 0, 2, 3, 3])


def test_reductions_by_hand() -> None:
    assert segments.segment_sum(VALUES, INDEX, 4).tolist() == [[4, -3], [0, 0], [-2, -1], [8, 9.5]]
    assert segments.segment_mean(VALUES, INDEX, 4).tolist() == [[2, -1.5], [0, 0], [-2, -1], [4, 4.75]]
    assert segments.segment_max(VALUES, INDEX, 4).tolist() == [[3, 2], [0, 0], [-2, -1], [4, 9]]
    assert segments.segment_min(VALUES, INDEX, 4).tolist() == [[1, -5], [0, 0], [-2, -1], [4, 0.5]]


def test_argmax_takes_the_first_of_equals() -> None:
    index = torch.tensor([0, 0, 1, 2, 2])
    assert segments.segment_argmax(VALUES, index, 3).tolist() == [[1, 1], [2, 2], [3, 4]]


def test_log_softmax_is_torchs_per_segment() -> None:
    got = segments.segment_log_softmax(VALUES, INDEX, 4)
    for segment in (0, 2, 3):
        torch.testing.assert_close(got[segment == INDEX], VALUES[segment == INDEX].log_softmax(0))


def test_extreme_scores_stay_finite() -> None:
    scores = torch.tensor([1e30, -1e30, 1e30])
    assert segments.segment_log_softmax(scores, torch.zeros(3, dtype=torch.int64), 1).isfinite().all()


def test_more_than_two_axes() -> None:
    values = torch.randn(5, 3, 2, 4)
    torch.testing.assert_close(segments.segment_sum(values, INDEX, 4)[3], values[3:].sum(0))
