"""Scaling of regression targets for training, and of predictions back to the original units."""

from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.errors import InputError


class Standardise(NamedTuple):
    """y ↦ (y - mean) / std for each target, with the mean and the standard deviation of the training part.

    Both are float64, because float32 is too coarse for targets whose mean is much larger than their deviation.

    Fields:
        mean: Mean of each target, [C].
        std: Standard deviation of each target, [C].
    """

    mean: Tensor
    std: Tensor

    @classmethod
    def fit(cls, y_train: Tensor) -> "Standardise":
        """Compute mean and deviation of each target. A constant target gets deviation 1.

        Args:
            y_train: Targets of the training part, [R, C]. NaN means unknown.
        """
        known = ~y_train.isnan()
        empty = ~known.any(0)
        if empty.any():
            target = int(empty.long().argmax())
            raise InputError(f"y_train must have a value for every target, but target {target} is NaN in all rows")
        y = y_train.double()
        mean = y.nanmean(0)
        std = (y - mean).square().nanmean(0).sqrt()
        # The deviation of equal numbers may not be exactly 0, because their mean is rounded. So compare the numbers.
        first = y.gather(0, known.long().argmax(0, keepdim=True))
        constant = ((y == first) | ~known).all(0)
        lost = ~(std.isfinite() & ((std > 0) | constant))
        if lost.any():
            target = int(lost.long().argmax())
            least, most = (float(y[known[:, target], target].aminmax()[side]) for side in (0, 1))
            raise InputError(
                f"y_train must have deviations that float64 can hold, but target {target} lies between {least:.3g} and "
                f"{most:.3g}; change its unit"
            )
        return cls(mean, std.masked_fill(constant, 1))

    def scale(self, y: Tensor) -> Tensor:
        """Scale targets, in their own dtype: [R, C] -> [R, C]."""
        return ((y - self.mean.to(y.device)) / self.std.to(y.device)).to(y.dtype)

    def unscale(self, prediction: Tensor) -> Tensor:
        """Map predictions back to the units of the targets, in float64: [R, C] -> [R, C]."""
        return prediction.to(torch.float64) * self.std.to(prediction.device) + self.mean.to(prediction.device)
