"""Particles that become copies of their ancestors."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.kernels.choice import fast


def select_particles(H: Tensor, ancestors: Tensor, graph: Tensor) -> Tensor:
    """H'[n, k] = H[n, a[graph of n, k]]: H [N, K, D], ancestors [G, K], graph [N] -> [N, K, D]."""
    if fast(H):
        return _Select.apply(H, ancestors, graph)  # type: ignore[no-untyped-call]
    return H.gather(1, ancestors[graph][..., None].expand_as(H))


class _Select(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: Tensor, ancestors: Tensor, graph: Tensor) -> Tensor:
        from pfgnn.kernels.triton_select import select

        ctx.save_for_backward(ancestors, graph)
        return select(H.contiguous(), ancestors, graph)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        from pfgnn.kernels.triton_select import select_backward

        return select_backward(gradients[0].contiguous(), *ctx.saved_tensors), None, None
