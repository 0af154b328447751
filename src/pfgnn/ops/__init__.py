"""Reductions and fused layers, in plain torch code and as fast Triton kernels for GPUs.

Each module holds functions with a plain torch implementation, which defines the result. The kernels are in
:mod:`pfgnn.ops.triton`, which is imported when a GPU first needs them. No kernel uses atomic operations on floats, so
the result is the same bit for bit in every run. :func:`use` chooses between plain code and kernels.
"""

from pfgnn.ops.dispatch import use

__all__ = ["use"]
