"""The Triton kernels of :mod:`pfgnn.ops`, one module for each of its modules, imported when a GPU needs them."""
