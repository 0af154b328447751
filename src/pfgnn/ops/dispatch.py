"""Which code runs: Triton kernels on a GPU, plain torch elsewhere, or what the caller says."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from pfgnn import __version__
from pfgnn.errors import InputError

MODES = ("auto", "plain", "triton")
FAST_TYPES = (torch.float32, torch.bfloat16, torch.float16)

Backward = TypeVar("Backward", bound=Callable[..., Any])

_mode = "auto"


@contextmanager
def use(mode: str) -> Iterator[None]:
    """Within, run "plain" torch code everywhere, or "triton" kernels everywhere, or choose by the device, "auto".

    On a CPU, "triton" needs Triton's interpreter, TRITON_INTERPRET=1 in the environment.
    """
    global _mode
    if mode not in MODES:
        raise InputError(f"mode must be one of {', '.join(MODES)}, but it is {mode!r}")
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


def product_dtype(x: Tensor) -> torch.dtype:
    """What products with a tensor are to be computed in: its own type, or autocast's."""
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype


def once(backward: Backward) -> Backward:
    """A backward that is no function of its own inputs' gradient: a second one is refused, not silently wrong."""
    return cast(Backward, once_differentiable(backward))


@cache
def _has_triton() -> bool:
    if find_spec("triton") is None:
        return False
    _announce()
    return True


def _announce() -> None:
    """Say why the first steps on a new machine take longer. Triton keeps what it compiled in a cache of its own."""
    home = Path(os.environ.get("TRITON_HOME") or os.path.expanduser("~"))
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")
    known = folder / f"pfgnn-{__version__}-on-{torch.cuda.get_device_name().replace(' ', '-')}"
    if known.exists():
        return
    log = logging.getLogger("pfgnn")
    log.warning("compiling kernels for this GPU, which takes up to a minute; from then on they are in %s", folder)
    with suppress(OSError):  # without a place to write, it is compiled and said every time
        folder.mkdir(parents=True, exist_ok=True)
        known.touch()
