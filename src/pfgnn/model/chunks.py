"""Some particles at a time: less memory, the same numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint


class Chunks:
    """K particles in chunks of one size.

    Args:
        particles: K.
        size: particles computed at a time.
    """

    def __init__(self, particles: int, size: int) -> None:
        self.parts = [slice(k, min(k + size, particles)) for k in range(0, particles, size)]

    def run(self, compute: Callable[..., Sequence[Tensor]], *arguments: Any) -> list[Tensor]:
        """compute(part, *arguments) for each chunk; its tensors [N, k, ...] side by side, [N, K, ...].

        With several chunks nothing is stored for the gradient. Backward computes each chunk again, with the same draws.
        """
        if len(self.parts) == 1:
            return list(compute(self.parts[0], *arguments))
        results = [_again(compute, part, *arguments) for part in self.parts]
        return [torch.cat(of_all, 1) for of_all in zip(*results, strict=True)]


def _again(compute: Callable[..., Sequence[Tensor]], *arguments: Any) -> Sequence[Tensor]:
    if not torch.is_grad_enabled():
        return compute(*arguments)
    # Our draws need no random state of torch; a foreign backbone's dropout does. A capture knows none.
    keep = not (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing())
    return checkpoint(compute, *arguments, use_reentrant=False, preserve_rng_state=keep)
