"""Chooses the code that runs, unless the caller chooses.

On a GPU this is Triton kernels. On a CPU it is plain torch, and for many rows the code of :mod:`pfgnn.ops.cpu`.
"""

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
    """Context manager that chooses the code of all ops.

    Args:
        mode: "plain" for the torch code that defines each op, "triton" for kernels everywhere, "auto" to choose by the
            device. On a CPU, "triton" needs Triton's interpreter: set TRITON_INTERPRET=1 in the environment.
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
    """Whether to use kernels for this tensor. It depends on the mode, the device and, for floats, the dtype."""
    if _mode == "plain" or (tensor.is_floating_point() and tensor.dtype not in FAST_TYPES):
        return False
    if torch.compiler.is_compiling():  # it makes kernels of its own from the plain code
        return False
    return _mode == "triton" or (tensor.is_cuda and _has_triton())


def automatic() -> bool:
    """Whether the code may be chosen by the device and the size of a tensor: no mode is set, and nothing is traced."""
    return _mode == "auto" and not torch.compiler.is_compiling()


def opaque() -> bool:
    """Whether torch.compile traces this call. Then a long op without a gradient is called as a whole, not traced.

    Such an op has many small steps, and torch.compile would take a minute for them. In a compiled pass it runs as it
    does without torch.compile, with the kernels of this package on a GPU. An exported pass has no such op, because it
    must run without this package.
    """
    return torch.compiler.is_dynamo_compiling() and not torch.compiler.is_exporting()


def apply(function: type[Function], *inputs: Any) -> Any:
    """Call ``function.apply(*inputs)``. This wrapper is here for mypy, because torch's method has no types."""
    return function.apply(*inputs)


def product_dtype(x: Tensor) -> torch.dtype:
    """The dtype for matrix products with x: that of autocast if it is enabled, otherwise that of x."""
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype


def once(backward: Backward) -> Backward:
    """Decorator of a backward function: double backward raises an error instead of giving a wrong result."""
    return cast(Backward, once_differentiable(backward))


@cache
def _has_triton() -> bool:
    if find_spec("triton") is None:
        return False
    _announce()
    return True


def _announce() -> None:
    """Log why the first steps on a new machine take longer: Triton compiles the kernels and then caches them.

    An empty file in the folder of Triton's cache marks that this was logged.
    """
    home = Path(os.environ.get("TRITON_HOME") or os.path.expanduser("~"))
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")
    known = folder / f"pfgnn-{__version__}-on-{torch.cuda.get_device_name().replace(' ', '-')}"
    if known.exists():
        return
    log = logging.getLogger("pfgnn")
    log.warning("compiling kernels for this GPU, which takes up to a minute; later runs load them from %s", folder)
    with suppress(OSError):  # if the folder is not writable, every run compiles and logs again
        folder.mkdir(parents=True, exist_ok=True)
        known.touch()
