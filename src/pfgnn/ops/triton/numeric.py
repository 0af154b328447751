"""Functions for Triton kernels of several modules. NaN stays NaN; the GPU's own minimum and maximum would drop it."""

import triton
import triton.language as tl


@triton.jit
def maximum(a, b):
    """max(a, b)."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def minimum(a, b):
    """min(a, b)."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def largest(x):
    """The largest of each column of x, or of all entries if x has one axis."""
    return tl.reduce(x, 0, maximum)


@triton.jit
def relu(x):
    """max(x, 0)."""
    return maximum(x, 0.0)


@triton.jit
def relu_back(x, d):
    """The gradient of x, from the gradient d of relu(x). As in torch's relu, it passes where x is NaN."""
    return tl.where(x <= 0, 0.0, d)


@triton.jit
def bounded(x, limit):
    """x clamped to ±limit."""
    return tl.clamp(x, -limit, limit, propagate_nan=tl.PropagateNan.ALL)
