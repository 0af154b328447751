"""Two layers on a CPU, with the matrix products of oneDNN.

torch calls oneDNN for products in bf16, but MKL for those in float32, which takes twice as long on CPUs of AMD. For
convolutions it calls oneDNN. So a product in float32 is a convolution here, of images with one pixel as the window.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pfgnn.ops.cpu.blocks import large
from pfgnn.ops.dispatch import apply, once

ROWS = 2048  # rows of a block for each thread; oneDNN compiles code for each shape, so all blocks have the same
FAST = (torch.float32, torch.bfloat16)
IMAGES = 16  # images in a block; with fewer, torch does not call oneDNN


def fits(x: Tensor) -> bool:
    """Whether :func:`two_layers` can be used and is faster than the plain code, for x [..., D]."""
    return (
        large(x)
        and x.shape[:-1].numel() >= ROWS
        and x.dtype in FAST
        and _dtype(x) in FAST
        and torch.backends.mkldnn.is_available()
    )


def two_layers(x: Tensor, weight: Tensor, bias: Tensor, last: Tensor, last_bias: Tensor) -> Tensor:
    """V relu(W x + b) + c; see :func:`pfgnn.ops.mlp.two_layers`."""
    return apply(_TwoLayers, x, weight, bias, last, last_bias, torch.is_grad_enabled())


class _TwoLayers(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *rest: Any) -> Tensor:
        *maps, keep = rest
        dtype, X, hidden = _dtype(x), x.reshape(-1, x.shape[-1]), []
        weight, bias, last, last_bias = (one.to(dtype) for one in maps)
        out = X.new_empty(len(X), len(last), dtype=dtype)
        for rows, block in _blocks(X, dtype):
            h = product(block, weight, bias).relu_()
            out[rows] = product(h, last, last_bias)[: rows.stop - rows.start]
            if keep:
                hidden.append(h)
        ctx.shape = x.shape
        ctx.save_for_backward(X, weight, last, *hidden)
        return out.view(*x.shape[:-1], len(last))

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        X, weight, last, *hidden = ctx.saved_tensors
        g, dtype = gradients[0].reshape(len(X), -1), weight.dtype
        of_x = torch.empty_like(X) if ctx.needs_input_grad[0] else None
        of_weight, of_last, of_bias = _zeros(weight), _zeros(last), _zeros(weight[:, 0])
        for (rows, block), (_, part), h in zip(_blocks(X, dtype), _blocks(g, dtype), hidden, strict=True):
            of_h, more = _gradients(part, h, last)
            of_last += more
            of_h = torch.ops.aten.threshold_backward(of_h, h, 0)
            of_bias += of_h.sum(0, dtype=of_bias.dtype)
            of_block, more = _gradients(of_h, block, weight, of_x is not None)
            of_weight += more
            if of_x is not None:
                of_x[rows] = of_block[: rows.stop - rows.start]
        of_last_bias = g.sum(0, dtype=of_bias.dtype)
        return None if of_x is None else of_x.view(ctx.shape), of_weight, of_bias, of_last, of_last_bias, None


def _dtype(x: Tensor) -> torch.dtype:
    """The dtype of products with x."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype


def _zeros(like: Tensor) -> Tensor:
    """Zeros to add the gradient of a parameter to."""
    return torch.zeros_like(like, dtype=torch.float32)


def _blocks(X: Tensor, dtype: torch.dtype) -> Iterator[tuple[slice, Tensor]]:
    """The rows of X [M, D] as blocks [B, D] of a dtype, which are all as large. The last one ends with zeros."""
    size = ROWS * torch.get_num_threads()
    for start in range(0, len(X), size):
        block = X[start : start + size].to(dtype)
        rows = slice(start, start + len(block))
        yield rows, block if len(block) == size else functional.pad(block, (0, 0, 0, size - len(block)))


def _pixels(block: Tensor) -> Tensor:
    """The rows [B, D] as pixels of images with D channels, without a copy: [IMAGES, D, 1, B / IMAGES]."""
    return block.view(IMAGES, 1, -1, block.shape[1]).permute(0, 3, 1, 2)


def _rows(pixels: Tensor) -> Tensor:
    """The inverse of :func:`_pixels`."""
    return pixels.permute(0, 2, 3, 1).flatten(0, 2)


def product(block: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """W x + b for each row x of a block, from [B, D] to [B, P]."""
    if block.dtype != torch.float32:
        return functional.linear(block, weight, bias)
    return _rows(functional.conv2d(_pixels(block), weight[:, :, None, None], bias))


def _gradients(g: Tensor, block: Tensor, weight: Tensor, of_block: bool = True) -> tuple[Tensor, Tensor]:
    """The gradients of the block and of the weight, from the gradient g [B, P] of their product.

    Without ``of_block`` the first one is not computed, and the block itself stands in its place.
    """
    if g.dtype != torch.float32:
        return g @ weight if of_block else block, g.T @ block
    window = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    of_pixels, of_weight, _ = torch.ops.aten.convolution_backward(
        _pixels(g), _pixels(block), weight[:, :, None, None], None, *window, [of_block, True, False]
    )
    return _rows(of_pixels) if of_block else block, of_weight[:, :, 0, 0]
