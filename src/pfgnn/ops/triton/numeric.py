"""What Triton kernels of several files compute; NaN stays NaN, which a GPU's own minimum and maximum would drop."""

import triton
import triton.language as tl


@triton.jit
def relu(x):
    """max(x, 0)."""
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def bounded(x, limit):
    """x within ±limit."""
    return tl.clamp(x, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
