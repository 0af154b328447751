"""Regression targets at a scale that is easy to learn, and predictions mapped back."""

from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.errors import InputError


class Standardise(NamedTuple):
    """y ↦ (y - mean) / std for each target, with mean and deviation of the training part.

    Fields: ``mean`` and ``std``, float64 [C]: float32 would round targets that are large beside their spread.
    """

    mean: Tensor
    std: Tensor

    @classmethod
    def fit(cls, y_train: Tensor) -> "Standardise":
        """From the targets of the training part [R, C], NaN where unknown; a constant target gets deviation 1."""
        known = ~y_train.isnan()
        empty = ~known.any(0)
        if empty.any():
            target = int(empty.long().argmax())
            raise InputError(f"y_train must know a value of every target, but it knows none of target {target}")
        y = y_train.double()
        mean = y.nanmean(0)
        std = (y - mean).square().nanmean(0).sqrt()
        # Asked of the targets themselves, for the deviation of equal numbers may be their mean's rounding error.
        first = y.gather(0, known.long().argmax(0, keepdim=True))
        constant = ((y == first) | ~known).all(0)
        return cls(mean, std.masked_fill(constant, 1))

    def scale(self, y: Tensor) -> Tensor:
        """Targets as they are learned, in their own dtype: [R, C] -> [R, C]."""
        return ((y - self.mean.to(y.device)) / self.std.to(y.device)).to(y.dtype)

    def unscale(self, prediction: Tensor) -> Tensor:
        """Predictions in the targets' units, in float64: [R, C] -> [R, C]."""
        return prediction.to(torch.float64) * self.std.to(prediction.device) + self.mean.to(prediction.device)
