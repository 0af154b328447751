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


def add_look_up(h: Tensor, table: Tensor, x: Tensor) -> Tensor:
    """h + table[x]. On a GPU the rows of the table are not written to memory.

    Args:
        h: Shape [N, ..., D].
        table: The table, shape [R, D]. R is small.
        x: Row numbers, shape [N, ...].

    Returns:
        The sum, shape [N, ..., D].
    """
    if fast(h) and len(table) <= MAX_ROWS and h.dtype == table.dtype:
        return apply(_AddLookUp, h, table, x)
    return h + functional.embedding(x, table)


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.rows = len(table)
        return table.index_select(0, x)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _of_table(gradients[0], ctx.saved_tensors[0], ctx.rows), None


class _AddLookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, table: Tensor, x: Tensor) -> Tensor:
        from pfgnn.ops.triton.embedding import add_from_table

        x = x.flatten().contiguous()
        ctx.save_for_backward(x)
        ctx.rows = len(table)
        return add_from_table(h.reshape(-1, h.shape[-1]).contiguous(), table.contiguous(), x).view(h.shape)

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        g = gradients[0]
        return g, _of_table(g.reshape(-1, g.shape[-1]), ctx.saved_tensors[0], ctx.rows), None


def _of_table(g: Tensor, x: Tensor, rows: int) -> Tensor:
    """The gradient of a table [R, D], from the gradient g [N, D] of its rows x [N]."""
    one_hot = (x[:, None] == torch.arange(rows, device=x.device)).to(g.dtype)  # [N, R]
    return one_hot.T @ g
