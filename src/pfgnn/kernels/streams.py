"""A second stream of a GPU, for what nobody waits for soon, such as the gradients of parameters."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor


@contextmanager
def beside(tensor: Tensor) -> Iterator[None]:
    """Within, kernels run beside those that are called afterwards; before the results are used, :func:`join`.

    What they read must stay referenced until then. On a CPU nothing changes.
    """
    if not tensor.is_cuda:
        yield
        return
    side = _side(tensor.device)
    side.wait_stream(torch.cuda.current_stream(tensor.device))
    with torch.cuda.stream(side):
        yield


def join(tensor: Tensor) -> None:
    """From here on, kernels wait for all that ran :func:`beside`."""
    if tensor.is_cuda:
        torch.cuda.current_stream(tensor.device).wait_stream(_side(tensor.device))


@cache
def _side(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
