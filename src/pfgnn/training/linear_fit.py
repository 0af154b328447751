"""Ridge regression of the targets on the sums of :class:`pfgnn.model.LinearPart`, before the training."""

from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.model.linear_part import LinearPart
from pfgnn.training.batches import Examples
from pfgnn.training.targets import Standardise

GRAPHS_AT_ONCE = 1024
SMALLEST = 1e-10  # deviations below this share of the numbers are rounding errors
# By the mean eigenvalue, which is 1. The smallest one is still far above rounding errors, for some sums depend on
# others. The largest one leaves next to nothing of W.
PENALTIES = 10.0 ** torch.arange(-10, 5, dtype=torch.float64)
LEAST_LEFT = 1e-6  # smallest deviation that is left, by that of the targets


class Moments(NamedTuple):
    """Weighted sums over the training graphs whose target is known, for each of C targets y.

    A constant is subtracted from s before, the same for all graphs.

    Fields:
        n: Σ 1, shape [C].
        s: Σ s, shape [C, F].
        y: Σ y, shape [C].
        ss: Σ s sᵀ, shape [C, F, F].
        sy: Σ s y, shape [C, F].
        yy: Σ y², shape [C].
    """

    n: Tensor
    s: Tensor
    y: Tensor
    ss: Tensor
    sy: Tensor
    yy: Tensor


def fit_linear(part: LinearPart, examples: Examples) -> Standardise:
    """Fit W and b of the part to the targets of the training graphs, and return the scaling of what is left.

    The scaling has the mean of the targets, and the deviation that the part leaves. The part predicts scaled targets.
    The penalty of each target is chosen by generalised cross-validation (Golub, Heath, Wahba, 1979). So targets that
    are no such sums, or are known of few graphs only, do no harm: then W is small.

    Args:
        part: The part, on the device of the graphs.
        examples: The graphs.
    """
    y = examples.y(examples.train).double()
    plain = Standardise.fit(y)
    centre, moments = _moments(part, examples, plain.scale(y))
    weight, left = zip(*(_ridge(Moments(*(field[c] for field in moments))) for c in range(y.shape[1])), strict=True)
    deviation = torch.stack(left).clamp(min=LEAST_LEFT)
    scaled = torch.stack(weight) / deviation[:, None]
    middle = centre + moments.s / moments.n[:, None]  # the mean of s over the graphs of each target
    part.weight.copy_(scaled)
    part.bias.copy_(moments.y / moments.n / deviation - (scaled * middle).sum(1))
    return Standardise(plain.mean, plain.std * deviation)


def _moments(part: LinearPart, examples: Examples, y: Tensor) -> tuple[Tensor, Moments]:
    """The constant that is subtracted from s, shape [F], and the sums over all training graphs, for targets y [G, C].

    The constant is close to the mean of s. Without it, the variance of s would lose digits.
    """
    found, centre, begin = None, torch.zeros(()), 0
    weights = torch.ones(len(y)) if examples.weights is None else torch.from_numpy(examples.weights)[examples.train]
    weights = weights.double() / weights.double().mean()
    for batch in examples.data.batches(examples.train, GRAPHS_AT_ONCE):
        s = part.sums(batch).double().cpu()
        if found is None:
            centre = s.mean(0)
        s, rows, w = s - centre, y[begin : begin + len(s)], weights[begin : begin + len(s), None]
        begin += len(s)
        w = torch.where(rows.isnan(), 0.0, w)  # [G, C]
        rows = rows.nan_to_num(0.0)
        yw = w * rows
        ss = torch.stack([(of_target[:, None] * s).T @ s for of_target in w.unbind(1)])
        here = Moments(w.sum(0), w.T @ s, yw.sum(0), ss, yw.T @ s, (yw * rows).sum(0))
        found = here if found is None else Moments(*(a + b for a, b in zip(found, here, strict=True)))
    assert found is not None
    return centre, found._replace(n=found.n.clamp(min=1e-12))  # it is 0 if all graphs of a target have weight 0


def _ridge(of: Moments) -> tuple[Tensor, Tensor]:
    """The coefficients [F] of one target, and the deviation that they leave, as it is expected on new graphs."""
    n, nothing, one = of.n, torch.zeros_like(of.s), torch.ones(())
    S, sy, yy = of.ss - of.s[:, None] * of.s / n, of.sy - of.s * of.y / n, of.yy - of.y.square() / n
    scale = S.diagonal().clamp(min=0).sqrt()
    varies = scale > SMALLEST * of.ss.diagonal().sqrt()
    if yy <= SMALLEST * n or not varies.any():  # a constant target, or graphs with equal sums
        return nothing, one
    scale = scale[varies]
    values, vectors = torch.linalg.eigh(S[varies][:, varies] / (scale[:, None] * scale))
    E, p = values[:, None], vectors.T @ (sy[varies] / scale)
    shrunk = E + PENALTIES  # [F', penalties]
    rest = yy - (p.square()[:, None] * (E + 2 * PENALTIES) / shrunk.square()).sum(0)
    free = n - 1 - (E / shrunk).sum(0)  # degrees of freedom that are left
    error = torch.where(free > 0.5, n * rest.clamp(min=0) / free.square(), torch.inf)
    best = int(error.argmin())
    return nothing.index_put((varies,), vectors @ (p / shrunk[:, best]) / scale), error[best].sqrt()
