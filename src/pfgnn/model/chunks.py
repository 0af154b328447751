"""Computing the particles in chunks. This needs less memory and gives the same result."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint


class Chunks:
    """K particles, split into chunks.

    Args:
        particles: K.
        size: Number of particles in a chunk. The last chunk may be smaller.
    """

    def __init__(self, particles: int, size: int) -> None:
        self.parts = [slice(k, min(k + size, particles)) for k in range(0, particles, size)]

    def run(self, compute: Callable[..., Sequence[Tensor]], *arguments: Any) -> list[Tensor]:
        """Call ``compute`` on each chunk and concatenate the results along the particle axis.

        With several chunks, nothing is stored for the gradient: the backward pass computes each chunk again, with the
        same draws.

        Args:
            compute: Called as compute(part, *arguments), where part is the slice of particles. It returns tensors of
                shape [N, k, ...].
            arguments: The other arguments of ``compute``.

        Returns:
            One tensor of shape [N, K, ...] for each tensor that ``compute`` returns.
        """
        if len(self.parts) == 1:
            return list(compute(self.parts[0], *arguments))
        results = [_again(compute, part, *arguments) for part in self.parts]
        return [torch.cat(of_all, 1) for of_all in zip(*results, strict=True)]


def _again(compute: Callable[..., Sequence[Tensor]], *arguments: Any) -> Sequence[Tensor]:
    if not torch.is_grad_enabled():
        return compute(*arguments)
    # A backbone from elsewhere may use torch's own dropout, so its random state must be restored. Our draws do not need
    # it. While a CUDA graph is captured, the state cannot be read.
    keep = not (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing())
    return checkpoint(compute, *arguments, use_reentrant=False, preserve_rng_state=keep)
