"""The option --threads of the commands that compute, and the memory of their process."""

import ctypes
from contextlib import suppress
from typing import Annotated

import typer

MOST = 256  # more threads than any machine needs

Threads = Annotated[
    int | None, typer.Option(min=1, max=MOST, help="CPU threads; by default OMP_NUM_THREADS if it is set, else 1.")
]


def use_threads(threads: int | None) -> None:
    """Set the number of CPU threads. Call it after all checks, because torch takes seconds to import."""
    from pfgnn.training.devices import set_threads

    keep_memory()
    set_threads(threads)


def keep_memory() -> None:
    """Let the C library keep freed memory for the next tensors, until the command ends.

    By default glibc gives each block above 32 MB back to the system, and gets it anew, page by page, for the next
    tensor. With large tensors that takes longer than the computation. Other C libraries are left as they are.
    """
    trim_threshold, most_mapped = -1, -4  # the numbers of M_TRIM_THRESHOLD and M_MMAP_MAX in malloc.h
    with suppress(AttributeError, OSError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        set_option(most_mapped, 0)
        set_option(trim_threshold, 2**31 - 1)
