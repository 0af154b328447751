"""Does a random model tell two graphs apart? Never a matter of comparing two draws.

A stochastic model gives different outputs to any two graphs, two copies of the same one included. So two graphs are
told apart only where the means of many fresh draws differ by more than draws of one graph explain: Hotelling's
two-sample T² test. All functions take many pairs at once.
"""

import math

import numpy as np
import torch
from scipy.special import betaincinv
from torch import Tensor

from pfgnn.errors import InputError

RIDGE = 1e-6  # of the mean variance of a column: directions with a deviation below 1/1000 of the others' do not count
FLOOR = 1e-4  # of the largest output: what a deterministic model's rounding errors stay below
COLUMNS = 16  # more are projected to as many


def told_apart(first: Tensor, second: Tensor, level: float) -> Tensor:
    """Whether T² exceeds its threshold, bool [P].

    Args:
        first, second: independent outputs of the two graphs of P pairs, [P, n, C] and [P, m, C], relabelled afresh for
            each draw.
        level: bounds how often a pair of isomorphic graphs is told apart, for normal outputs.
    """
    return hotelling(first, second) > threshold(first.shape[2], first.shape[1], second.shape[1], level)


def hotelling(first: Tensor, second: Tensor, ridge: float = RIDGE, floor: float = FLOOR) -> Tensor:
    """T² = nm / (n + m) Δᵀ (S + λI)⁻¹ Δ with λ = ridge · tr(S) / C + (floor · max |outputs|)², float64 [P].

    Δ is the difference of the means and S the pooled covariance. λ keeps T² finite where S is singular, as with a
    deterministic model, and it only ever lowers T², so the test's level stays an upper bound. Outputs of more than
    16 columns are first multiplied by a fixed matrix of normal numbers: S has to be estimated well from n + m draws.

    Args: first, second: as for :func:`told_apart`.  ridge, floor: 0 for the plain T².
    """
    if first.dim() != 3 or second.dim() != 3 or (first.shape[0], first.shape[2]) != (second.shape[0], second.shape[2]):
        raise InputError(
            "first and second must have shapes [P, n, C] and [P, m, C], "
            f"but they have {list(first.shape)} and {list(second.shape)}"
        )
    n, m = first.shape[1], second.shape[1]
    both = _project(torch.cat([first, second], 1).double())  # [P, n + m, C]
    if not both.isfinite().all():
        raise InputError("outputs must be finite to be told apart, but some are NaN or infinite")
    X, Y = both.split([n, m], 1)
    difference = X.mean(1) - Y.mean(1)
    centred = torch.cat([X - X.mean(1, keepdim=True), Y - Y.mean(1, keepdim=True)], 1)
    S = centred.mT @ centred / (n + m - 2)  # [P, C, C]
    variance = S.diagonal(dim1=1, dim2=2)
    shift = ridge * variance.mean(1) + (floor * both.abs().amax((1, 2))).square()
    variance += shift.clamp(min=torch.finfo(S.dtype).tiny)[:, None]  # in place; tiny where all outputs are 0
    whitened = torch.linalg.solve_triangular(torch.linalg.cholesky(S), difference[:, :, None], upper=False)
    return n * m / (n + m) * whitened.square().sum((1, 2))


def threshold(columns: int, first: int, second: int, level: float) -> float:
    """What T² of ``first`` and ``second`` normal draws of one distribution exceeds with probability ``level``.

    T² (f - C + 1) / (f C) with f = n + m - 2 has the F distribution with C and f - C + 1 degrees of freedom, so that
    1 / (1 + T² / f) has the beta distribution with (f - C + 1) / 2 and C / 2.
    """
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, but it is {level}")
    C, f = min(columns, COLUMNS), first + second - 2
    if f < C:
        raise InputError(
            f"the draws of both graphs must be at least {C + 2} to test {C} columns, but they are {first + second}"
        )
    return float(f * (1 / betaincinv((f - C + 1) / 2, C / 2, level) - 1))


def _project(outputs: Tensor) -> Tensor:
    """Outputs [..., C], of more than 16 columns by a fixed random matrix as [..., 16]."""
    C = outputs.shape[-1]
    if C <= COLUMNS:
        return outputs
    matrix = np.random.default_rng(0).standard_normal((C, COLUMNS)) / math.sqrt(C)
    return outputs @ torch.from_numpy(matrix).to(outputs)
