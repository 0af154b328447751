"""The Triton kernels of :mod:`pfgnn.ops`, which imports them when a GPU first needs them.

Most modules have the name of the module of :mod:`pfgnn.ops` that they serve. ``pna_maps``, ``pna_scalers``
and ``pna_towers`` serve ``pna``. ``rows`` and ``numeric`` hold code that several modules use.
"""
