"""The mean over independent draws, and its standard error."""

import torch
from torch import Tensor


class MeanOfDraws:
    """The mean of the draws that were added, without keeping them (Welford's algorithm).

    Attributes:
        count: R, number of draws.
        mean: Their mean.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean, self._squares = torch.zeros(()), torch.zeros(())  # squares of the deviations from the mean

    def add(self, draw: Tensor) -> None:
        """Add a draw. All draws have the same shape."""
        self.count += 1
        deviation = draw - self.mean
        self.mean = self.mean + deviation / self.count
        self._squares = self._squares + deviation * (draw - self.mean)

    @property
    def error(self) -> Tensor:
        """Standard error of the mean: the standard deviation of the draws divided by √R. NaN with one draw."""
        if self.count < 2:
            return self._squares * torch.nan
        return (self._squares / (self.count - 1) / self.count).sqrt()
