"""Computing the particles in chunks. This needs less memory and gives the same result."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Compute = Callable[..., Sequence[Tensor]]


class Chunks:
    """K particles, split into chunks.

    With several chunks, nothing is stored for the gradient: the backward pass computes each chunk again, with the same
    draws.

    Args:
        particles: K.
        size: Number of particles in a chunk. The last chunk may be smaller.
    """

    def __init__(self, particles: int, size: int) -> None:
        self.parts = [slice(k, min(k + size, particles)) for k in range(0, particles, size)]

    def run(self, compute: Compute, own: Sequence[Tensor], *arguments: Any) -> list[Tensor]:
        """Call ``compute`` on each chunk and concatenate the results along the particle axis.

        Args:
            compute: Called as compute(part, *own, *arguments), where part is the slice of particles. It returns tensors
                of shape [N, k, ...].
            own: Tensors of shape [N, K, ...], of which ``compute`` gets the chunk [N, k, ...], or of shape [N, 1, ...]
                while all particles are equal.
            arguments: The other arguments of ``compute``.

        Returns:
            One tensor of shape [N, K, ...] for each tensor that ``compute`` returns.
        """
        results = self._results(compute, own, arguments)
        return [of_all[0] if len(of_all) == 1 else torch.cat(of_all, 1) for of_all in zip(*results, strict=True)]

    def add(self, compute: Compute, own: Sequence[Tensor], *arguments: Any) -> list[Tensor]:
        """Call ``compute`` on each chunk and add up the results. See :meth:`run`."""
        totals: list[Tensor] = []
        for result in self._results(compute, own, arguments):
            totals = [a + b for a, b in zip(totals, result, strict=True)] if totals else list(result)
        return totals

    def _results(self, compute: Compute, own: Sequence[Tensor], arguments: Sequence[Any]) -> Iterator[Sequence[Tensor]]:
        if len(self.parts) == 1:
            yield compute(self.parts[0], *own, *arguments)
            return
        for part, *pieces in zip(self.parts, *map(self._split, own), strict=True):
            yield _again(compute, part, *pieces, *arguments)

    def _split(self, whole: Tensor) -> Sequence[Tensor]:
        """The chunks of a tensor. The gradient of a slice would fill up the whole tensor with zeros, for each chunk."""
        if whole.shape[1] == 1:
            return [whole] * len(self.parts)
        return whole.split([part.stop - part.start for part in self.parts], 1)


def _again(compute: Compute, *arguments: Any) -> Sequence[Tensor]:
    if not torch.is_grad_enabled():
        return compute(*arguments)
    # A backbone from elsewhere may use torch's own dropout, so its random state must be restored. Our draws do not need
    # it. While a CUDA graph is captured, the state cannot be read.
    keep = not (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing())
    return checkpoint(compute, *arguments, use_reentrant=False, preserve_rng_state=keep)
