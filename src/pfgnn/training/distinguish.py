"""A test of whether a random model tells two graphs apart.

It is not enough to compare two outputs: a random model gives different outputs to any two graphs, even to two copies
of the same graph. So the model is run many times on each graph. Two graphs are told apart if the means of their outputs
differ by more than the variance of the outputs explains, by Hotelling's two-sample T² test. All functions take many
pairs at once.
"""

import math

import numpy as np
import torch
from torch import Tensor

from pfgnn.errors import InputError

# Relative to the mean variance of a column. Directions whose standard deviation is below 1/1000 of the others' are
# ignored.
RIDGE = 1e-6
# Relative to the largest output. The rounding errors of a deterministic model are smaller.
FLOOR = 1e-4
PUBLISHED = 72.34  # threshold of paired_t2 in BREC (Wang and Zhang, 2023), for 32 draws of 16 outputs
COLUMNS = 16  # outputs with more columns are projected to this many


def hotelling(first: Tensor, second: Tensor, ridge: float = RIDGE, floor: float = FLOOR) -> Tensor:
    """T² = nm / (n + m) Δᵀ (S + λI)⁻¹ Δ with λ = ridge · tr(S) / C + (floor · max |outputs|)², float64 [P].

    Δ is the difference of the means and S is the pooled covariance. λ keeps T² finite if S is singular, as it is for a
    deterministic model. λ only makes T² smaller, so the level of the test stays an upper bound. Outputs with more than
    16 columns are first projected to 16 by a fixed random matrix, because S must be estimated from n + m draws.

    Args:
        first: Outputs of the first graph of each pair, [P, n, C].
        second: Outputs of the second graph of each pair, [P, m, C].
        ridge: Factor of the first term of λ. The plain T² has ridge 0 and floor 0.
        floor: Factor of the second term of λ.
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


def paired_t2(first: Tensor, second: Tensor) -> Tensor:
    """Δᵀ (S + 1e-7 I)⁻¹ Δ with the mean Δ and the covariance S of the differences of paired draws, float64 [P].

    This is the number that BREC compares with ``PUBLISHED``: T² of paired samples, without the factor n. The small
    matrix is the one that BREC advises for outputs that do not vary.

    Args:
        first: Outputs of the first graph of each pair, [P, n, C].
        second: Outputs of the second graph of each pair, [P, n, C].
    """
    differences = (first - second).double()
    mean = differences.mean(1, keepdim=True)  # [P, 1, C]
    centred = differences - mean
    S = centred.mT @ centred / (first.shape[1] - 1)  # [P, C, C]
    S.diagonal(dim1=1, dim2=2).add_(1e-7)
    return (mean @ torch.linalg.solve(S, mean.mT))[:, 0, 0]


def threshold(columns: int, first: int, second: int, level: float) -> float:
    """The value that T² of two equal normal distributions exceeds with probability ``level``.

    With f = n + m - 2, T² (f - C + 1) / (f C) has the F distribution with C and f - C + 1 degrees of freedom. So
    1 / (1 + T² / f) has the beta distribution with parameters (f - C + 1) / 2 and C / 2.

    Args:
        columns: C, number of columns of the outputs.
        first: n, number of draws of the first graph.
        second: m, number of draws of the second graph.
        level: Probability, between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, but it is {level}")
    C, f = min(columns, COLUMNS), first + second - 2
    if f < C:
        raise InputError(
            f"the draws of both graphs must be at least {C + 2} to test {C} columns, but they are {first + second}"
        )
    from scipy.special import betaincinv  # imported here, because scipy is slow to import

    return float(f * (1 / betaincinv((f - C + 1) / 2, C / 2, level) - 1))


def _project(outputs: Tensor) -> Tensor:
    """Project outputs [..., C] with more than 16 columns to [..., 16] by a fixed random matrix."""
    C = outputs.shape[-1]
    if C <= COLUMNS:
        return outputs
    matrix = np.random.default_rng(0).standard_normal((C, COLUMNS)) / math.sqrt(C)
    return outputs @ torch.from_numpy(matrix).to(outputs)
