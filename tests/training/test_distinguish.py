import numpy as np

from pfgnn.training.distinguish import told_apart


def outputs(rng: np.random.Generator, mean: float, draws: int = 30, columns: int = 5) -> np.ndarray:
    return mean + rng.standard_normal((draws, columns))


def test_draws_of_one_graph_are_not_told_apart_more_often_than_the_level_says() -> None:
    """Level 1/20: of 400 control pairs about 20 are false alarms, and more than 38 with probability 1e-4."""
    rng = np.random.default_rng(0)
    alarms = sum(told_apart(outputs(rng, 0), outputs(rng, 0), rng, permutations=19) for _ in range(400))
    assert 5 <= alarms <= 38


def test_different_means_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    assert all(told_apart(outputs(rng, 0), outputs(rng, 1), rng) for _ in range(10))


def test_a_deterministic_models_rounding_errors_are_not() -> None:
    """Constant outputs that differ by rounding: every regrouping is closer, and yet it means nothing."""
    rng = np.random.default_rng(0)
    first = np.full((30, 5), 1.0)
    assert not told_apart(first, first + 1e-6, rng)
    assert told_apart(first, first + 1e-2, rng)


def test_equal_outputs_are_not_told_apart() -> None:
    assert not told_apart(np.zeros((30, 5)), np.zeros((30, 5)), np.random.default_rng(0))


def test_samples_of_different_sizes() -> None:
    rng = np.random.default_rng(0)
    large = outputs(rng, 5, draws=90)
    assert not told_apart(outputs(rng, 5), large, rng)
    assert told_apart(outputs(rng, 6), large, rng)
