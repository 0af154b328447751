"""Hotelling's test: its level, its power, and what must never count."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from pfgnn.training.distinguish import COLUMNS, _project, hotelling, paired_t2, threshold

R, LEVEL = 64, 0.01


def told_apart(first: torch.Tensor, second: torch.Tensor, level: float) -> torch.Tensor:
    """Whether the test tells each pair apart, [P]."""
    return hotelling(first, second) > threshold(first.shape[2], first.shape[1], second.shape[1], level)


def normal(shape: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_t2_by_hand() -> None:
    """Means (2, 0) and (0, 1), squares about them diag(8, 2) and diag(2, 8), so S = 10/6 I."""
    first = torch.tensor([[[0.0, 0.0], [4.0, 0.0], [2.0, 1.0], [2.0, -1.0]]])
    second = torch.tensor([[[-1.0, 1.0], [1.0, 1.0], [0.0, 3.0], [0.0, -1.0]]])
    S = 10 / 6
    plain = 4 * 4 / (4 + 4) * (2**2 + 1**2) / S
    assert hotelling(first, second, ridge=0, floor=0).item() == pytest.approx(plain, rel=1e-12)
    shifted = S + 0.1 * S + (0.01 * 4) ** 2
    assert hotelling(first, second, ridge=0.1, floor=0.01).item() == pytest.approx(plain * S / shifted, rel=1e-12)


def test_one_column_is_the_t_test_squared() -> None:
    first, second = normal((1, 20, 1)), normal((1, 30, 1), 1) + 0.5
    t, p = stats.ttest_ind(first[0], second[0])
    got = hotelling(first, second, ridge=0, floor=0).item()
    assert got == pytest.approx(t.item() ** 2, rel=1e-10)
    assert threshold(1, 20, 30, p.item()) == pytest.approx(got, rel=1e-8)


def test_t2_of_pairs_by_hand() -> None:
    """Differences (1, 2), (3, 2) and (2, 2): mean (2, 2), variances 1 and 0."""
    second = normal((1, 3, 2))
    first = second + torch.tensor([[1.0, 2.0], [3.0, 2.0], [2.0, 2.0]])
    assert paired_t2(first, second).item() == pytest.approx(4 / (1 + 1e-7) + 4 / 1e-7, rel=1e-6)
    assert paired_t2(second, second).item() == 0.0


@pytest.mark.parametrize(("columns", "n", "m", "level"), [(5, 64, 64, 1e-6), (15, 30, 30, 1e-4), (2, 4, 9, 0.05)])
def test_the_threshold_is_that_of_f(columns: int, n: int, m: int, level: float) -> None:
    f = n + m - 2
    freedom = f - columns + 1
    want = f * columns / freedom * stats.f.isf(level, columns, freedom)
    assert threshold(columns, n, m, level) == pytest.approx(want, rel=1e-9)


def test_t2_does_not_depend_on_the_units_of_the_outputs() -> None:
    first, second = normal((50, R, 4)), normal((50, R, 4), 1) + 0.2
    A, b = normal((4, 4), 2), normal((4,), 3)
    plain, moved = (
        hotelling(x, y, ridge=0, floor=0) for x, y in ((first, second), (first @ A + 10 * b, second @ A + 10 * b))
    )
    torch.testing.assert_close(plain, moved, rtol=1e-6, atol=0)


def test_a_ridge_only_lowers_t2() -> None:
    first, second = normal((50, R, 4)), normal((50, R, 4), 1)
    plain = hotelling(first, second, ridge=0, floor=0)
    assert (hotelling(first, second, ridge=1e-2, floor=0) < plain).all()
    assert (hotelling(first, second, ridge=0, floor=1e-2) < plain).all()


@pytest.mark.parametrize("columns", [3, COLUMNS])
def test_the_level_is_held_for_normal_outputs(columns: int) -> None:
    """5,000 null pairs at level 1/100: 50 false alarms, ± 4 deviations of 7."""
    alarms = int(told_apart(normal((5000, R, columns)), normal((5000, R, columns), 1), LEVEL).sum())
    assert 22 <= alarms <= 78


def test_the_level_is_held_for_skewed_outputs() -> None:
    """Exponential outputs, of skewness 2: the mean of 64 is near enough to normal for the same bounds."""
    first, second = (normal((5000, R, 3), seed).erfc().div(2).log().neg() for seed in (0, 1))
    assert int(told_apart(first, second, LEVEL).sum()) <= 78


def test_different_means_are_told_apart() -> None:
    """A shift of two deviations in one of 5 columns, at the level of the experiments."""
    shift = torch.tensor([2.0, 0, 0, 0, 0])
    assert told_apart(normal((100, R, 5)), normal((100, R, 5), 1) + shift, 1e-6).all()


def test_a_deterministic_models_rounding_errors_are_not() -> None:
    """Constant outputs with rounding errors: S is nearly 0, and yet the difference means nothing."""
    outputs = 1 + 2 * normal((200, 1, 5)).expand(200, R, 5)
    for seed, systematic in ((1, 0.0), (2, 1e-6)):
        rounded = outputs * (1 + systematic) + 1e-6 * normal((200, R, 5), seed)
        assert not told_apart(outputs, rounded, 0.05).any()
    assert told_apart(outputs, outputs + 1e-2, 1e-6).all()


def test_equal_outputs_have_t2_of_0() -> None:
    for value in (0.0, 3.0):
        assert hotelling(torch.full((2, R, 5), value), torch.full((2, R, 5), value)).tolist() == [0, 0]


def test_outputs_of_many_columns_are_projected() -> None:
    """100 columns and 2 · 16 draws: the covariance has no inverse, its projection has."""
    first, second = normal((2000, COLUMNS, 100)), normal((2000, COLUMNS, 100), 1)
    alarms = int(told_apart(first, second, LEVEL).sum())
    assert 2 <= alarms <= 38  # 20, ± 4 deviations of 4.5
    assert told_apart(first, second + 2, LEVEL).all()
    assert torch.equal(hotelling(first, second), hotelling(first, second))
    first_row = 0.12573022, -0.13210486, 0.64042265  # the standard normal numbers of numpy's seed 0
    found = _project(torch.eye(COLUMNS + 1, dtype=torch.float64))[0, :3] * math.sqrt(COLUMNS + 1)
    assert found.tolist() == pytest.approx(first_row)


def test_samples_of_different_sizes(device: torch.device) -> None:
    first, second = (t.float().to(device) for t in (normal((10, 30, 5)), normal((10, 90, 5), 1)))
    assert not told_apart(first, second, 1e-4).any()
    assert told_apart(first + 1.5, second, 1e-4).all()


def test_wrong_input_is_named() -> None:
    good = normal((2, 8, 5))
    with pytest.raises(
        ValueError, match=r"shapes \[P, n, C\] and \[P, m, C\], but they have \[2, 8, 5\] and \[2, 8, 4\]"
    ):
        hotelling(good, good[:, :, :4])
    with pytest.raises(ValueError, match="outputs must be finite to be told apart"):
        hotelling(good, torch.full_like(good, math.nan))
    with pytest.raises(ValueError, match="at least 7 to test 5 columns, but they are 6"):
        threshold(5, 3, 3, 0.1)
    assert threshold(5, 3, 4, 0.1) > 0
    for level in (0.0, 1.0):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            threshold(5, 8, 8, level)


def test_more_draws_lower_the_threshold() -> None:
    limits = [threshold(5, draws, draws, 1e-6) for draws in (8, 16, 64, 100_000)]
    assert np.all(np.diff(limits) < 0)
    assert limits[-1] == pytest.approx(stats.chi2.isf(1e-6, 5), rel=1e-3)
