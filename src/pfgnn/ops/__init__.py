"""Reductions and fused layers: plain torch code that says what is computed, and Triton kernels that do it fast on GPUs.

Each module holds functions and their plain form. The kernels lie in :mod:`pfgnn.ops.triton` and are imported when a GPU
first needs them. None uses atomics on floats, so a result has the same bits every time. See :func:`use`.
"""

from pfgnn.ops.dispatch import use

__all__ = ["use"]
