"""Rows of a small table, looked up by many."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pfgnn.ops.dispatch import apply, fast, once

MANY = 256  # rows of a table, above which a product with all of them is no bargain


def look_up(table: Tensor, x: Tensor) -> Tensor:
    """table[x], with its gradient as a product with one-hot rows where that is fast: [R, D], [N] -> [N, D]."""
    if fast(table) and len(table) <= MANY:
        return apply(_LookUp, table, x)
    return functional.embedding(x, table)


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.rows = len(table)
        return table.index_select(0, x)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        one_hot = (x[:, None] == torch.arange(ctx.rows, device=x.device)).to(gradients[0].dtype)  # [N, R]
        return one_hot.T @ gradients[0], None
