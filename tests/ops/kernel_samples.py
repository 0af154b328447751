"""Shared by the tests of this folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from pfgnn.ops import use
from pfgnn.ops.segments import (
    Segments,
    make_segments,
)

SIZES = [5, 1, 9, 3]  # nodes per graph


NODES = torch.arange(4).repeat_interleave(torch.tensor(SIZES))
EDGES = 23


def edges(device: torch.device) -> tuple[Segments, Segments]:
    """Random edges sorted by target. Some nodes have none, and some have several from one node."""
    g = torch.Generator().manual_seed(1)
    source = torch.randint(len(NODES), (EDGES,), generator=g).to(device)
    target = torch.randint(len(NODES) - 2, (EDGES,), generator=g).sort().values.to(device)
    return make_segments(source, len(NODES), False, other=target), make_segments(target, len(NODES), ordered=True)


def nodes(device: torch.device) -> Segments:
    return make_segments(NODES.to(device), len(SIZES), ordered=True)


@contextmanager
def fresh_memory_is_nan(device: torch.device) -> Iterator[None]:
    """Fill new memory with NaN on a CPU, so that entries that no kernel has written are found."""
    torch.use_deterministic_algorithms(device.type == "cpu")
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def assert_twins(compute: Callable[..., Tensor], *inputs: Tensor) -> None:
    """The kernel's result and gradients are those of the plain code in float64, and on a GPU the same bits every time.

    Triton's interpreter runs one program after the other, so there a second run would show nothing.
    """
    found, passes = [], [("plain", torch.float64), *[("triton", torch.float32)] * (2 if inputs[0].is_cuda else 1)]
    g = torch.Generator().manual_seed(3)
    for mode, dtype in passes:
        leaves = [value.detach().to(dtype).requires_grad_() for value in inputs]
        with use(mode), fresh_memory_is_nan(inputs[0].device):
            out = compute(*leaves)
            weight = torch.randn(out.shape, generator=g.manual_seed(3), dtype=torch.float64).to(out)
            out.backward(weight)
        gradients = [leaf.grad for leaf in leaves]
        assert None not in gradients
        found.append([out.detach(), *(gradient for gradient in gradients if gradient is not None)])
    for want, got, *again in zip(*found, strict=True):
        largest = float(want.abs().max()) if want.numel() else 0.0  # to which rounding errors of sums are relative
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5 * max(1.0, largest))
        assert all(torch.equal(got, other) for other in again)
