"""Which code runs: Triton kernels on a GPU, plain torch elsewhere, or what the caller says."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

MODES = ("auto", "plain", "triton")
FAST_TYPES = (torch.float32, torch.bfloat16, torch.float16)

_mode = "auto"


@contextmanager
def use(mode: str) -> Iterator[None]:
    """Within, run "plain" torch code everywhere, or "triton" kernels everywhere, or choose by the device, "auto".

    On a CPU, "triton" needs Triton's interpreter, TRITON_INTERPRET=1 in the environment.
    """
    global _mode
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, but it is {mode!r}")
    before, _mode = _mode, mode
    try:
        yield
    finally:
        _mode = before


def fast(tensor: Tensor) -> bool:
    """Whether kernels should work on a tensor of this device and type; integers only need the device."""
    if _mode == "plain" or (tensor.is_floating_point() and tensor.dtype not in FAST_TYPES):
        return False
    return _mode == "triton" or (tensor.is_cuda and _has_triton())


def apply(function: type[Function], *inputs: Any) -> Any:
    """The function of the inputs, with its gradient: torch leaves the call of a subclass untyped."""
    return function.apply(*inputs)


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
