"""Looking up many rows of a small table."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pfgnn.ops.dispatch import apply, fast, once

MAX_ROWS = 256  # a table with more rows uses torch's own gradient, as the product with one-hot rows would be slow


def look_up(table: Tensor, x: Tensor) -> Tensor:
    """table[x]. On a GPU the gradient of a small table is a fast product with one-hot rows.

    Args:
        table: The table, shape [R, D].
        x: Row numbers, shape [N].

    Returns:
        The rows, shape [N, D].
    """
    if fast(table) and len(table) <= MAX_ROWS:
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
