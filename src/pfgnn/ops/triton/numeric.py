"""Functions for Triton kernels of several modules. NaN stays NaN; the GPU's own minimum and maximum would drop it."""

import triton
import triton.language as tl


@triton.jit
def relu(x):
    """max(x, 0)."""
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def bounded(x, limit):
    """x clamped to ±limit."""
    return tl.clamp(x, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
