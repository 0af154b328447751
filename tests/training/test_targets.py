import math

import pytest
import torch

from pfgnn.errors import InputError
from pfgnn.training.targets import Standardise


def test_scaled_targets_have_mean_0_and_deviation_1_and_come_back(device: torch.device) -> None:
    y = torch.randn(1000, 3, device=device) * torch.tensor([1.0, 50.0, 0.01], device=device) + 7
    targets = Standardise.fit(y)
    scaled = targets.scale(y)
    assert scaled.dtype == torch.float32
    torch.testing.assert_close(scaled.mean(0), torch.zeros(3, device=device), rtol=0, atol=1e-5)
    torch.testing.assert_close(scaled.std(0, correction=0), torch.ones(3, device=device))
    torch.testing.assert_close(targets.unscale(scaled).float(), y)


def test_targets_far_from_0_lose_nothing() -> None:
    """Energies of -11,000 eV with errors of millielectronvolts: float32 would round the way back to 1 meV."""
    y = torch.tensor([[-11000.0], [-11002.0]])
    targets = Standardise.fit(y)
    assert targets.unscale(torch.tensor([[1 + 1e-6]])).item() == pytest.approx(-11000 + 1e-6, abs=1e-7)


def test_unknown_targets_are_left_out() -> None:
    y = torch.tensor([[1.0, math.nan], [3.0, 5.0], [math.nan, 9.0]])
    targets = Standardise.fit(y)
    assert (targets.mean.tolist(), targets.std.tolist()) == ([2.0, 7.0], [1.0, 2.0])
    torch.testing.assert_close(targets.scale(y), torch.tensor([[-1, math.nan], [1, -1], [math.nan, 1]]), equal_nan=True)


@pytest.mark.parametrize("unknown", [0, 2])
def test_a_constant_target_has_deviation_1(unknown: int) -> None:
    """0.1 is no sum of powers of two, so the computed deviation of many copies is not quite 0."""
    y = torch.full((7, 1), 0.1, dtype=torch.float64)
    y[:unknown] = math.nan
    targets = Standardise.fit(y)
    assert targets.std.tolist() == [1.0]
    assert targets.mean.item() == pytest.approx(0.1, rel=1e-15)


@pytest.mark.parametrize("size", [1e200, 1e-300])
def test_a_target_whose_deviation_float64_cannot_hold_is_named(size: float) -> None:
    y = torch.tensor([[1.0, size], [2.0, 2 * size], [3.0, 4 * size]], dtype=torch.float64)
    with pytest.raises(InputError, match=r"but target 1 lies between 1e[+-]\d+ and 4e[+-]\d+; change its unit"):
        Standardise.fit(y)


def test_a_target_that_is_never_known_is_named() -> None:
    with pytest.raises(ValueError, match="y_train must have a value for every target, but target 1 is NaN in all rows"):
        Standardise.fit(torch.tensor([[1.0, math.nan], [2.0, math.nan]]))
