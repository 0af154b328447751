"""Code of the operations for many rows on a CPU. It works on one block of rows after the other.

A block stays in the caches, and so do its intermediate results. Without blocks they would be large tensors, and for
each of them the C library may get memory anew from the system, page by page, which takes longer than the computation.

There is no second derivative, as with the kernels for GPUs. ``with pfgnn.ops.use("plain")`` has one.
"""
