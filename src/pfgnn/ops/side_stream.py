"""A side stream of the GPU, for results that are not needed soon, such as the gradients of parameters."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor


@contextmanager
def beside(tensor: Tensor) -> Iterator[None]:
    """Launch the kernels of this block on the side stream. The enclosing :func:`joined` waits for them.

    Keep references to the tensors that they read until the end of ``joined``. On a CPU this does nothing.

    Args:
        tensor: Any tensor on the device.
    """
    if not tensor.is_cuda:
        yield
        return
    _, side = _forked(tensor)
    with torch.cuda.stream(side):
        yield


@contextmanager
def joined(tensor: Tensor) -> Iterator[None]:
    """At the end of this block, wait for everything that :func:`beside` launched in it.

    This also happens after an exception, because a capture of a CUDA graph cannot end while the side stream is not
    joined. The side stream first waits for the main one, even if nothing runs on it: a capture may only wait for a
    stream that is part of the capture.

    Args:
        tensor: Any tensor on the device.
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
    """The current stream and its side stream, which first waits for all earlier work of the current stream."""
    main = torch.cuda.current_stream(tensor.device)
    side = _side(main)
    side.wait_stream(main)
    return main, side


@cache
def _side(main: torch.cuda.Stream) -> torch.cuda.Stream:
    """The side stream of a main stream. Each main stream has its own, so that they do not reuse each other's memory."""
    return torch.cuda.Stream(main.device)
