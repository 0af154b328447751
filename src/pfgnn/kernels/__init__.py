"""Reductions and fused layers: plain torch code that says what is computed, and Triton kernels that do it fast on GPUs.

Each module holds a function and its plain form; the kernels lie beside it in ``triton_*.py`` and are imported when a
GPU first needs them. None uses atomics on floats, so a result has the same bits every time. See :func:`use`.
"""

from pfgnn.kernels.choice import use

__all__ = ["use"]
