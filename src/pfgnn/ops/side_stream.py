"""A second stream of a GPU, for what nobody waits for soon, such as the gradients of parameters."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor


@contextmanager
def beside(tensor: Tensor) -> Iterator[None]:
    """Within, kernels run beside those that are called afterwards, until the end of :func:`joined`, which is around it.

    What they read must stay referenced until then. On a CPU nothing changes.
    """
    if not tensor.is_cuda:
        yield
        return
    _, side = _forked(tensor)
    with torch.cuda.stream(side):
        yield


@contextmanager
def joined(tensor: Tensor) -> Iterator[None]:
    """After it, kernels wait for all that ran :func:`beside` within.

    Also after an exception: no capture of a CUDA graph could end with the second stream left open. And also where
    nothing ran: a capture may only wait for a stream that has waited for it.
    """
    if not tensor.is_cuda:
        yield
        return
    main, side = _forked(tensor)
    try:
        yield
    finally:
        main.wait_stream(side)


def _forked(tensor: Tensor) -> tuple[torch.cuda.Stream, torch.cuda.Stream]:
    """The stream that is in use, and the second one, which from here on waits for what that was told so far."""
    main = torch.cuda.current_stream(tensor.device)
    side = _side(main)
    side.wait_stream(main)
    return main, side


@cache
def _side(main: torch.cuda.Stream) -> torch.cuda.Stream:
    """One for each main stream, whose memory no other stream's work may take over."""
    return torch.cuda.Stream(main.device)
