"""When the code of this folder is used, and the blocks that it works on."""

from collections.abc import Iterator

import torch
from torch import Tensor

from pfgnn.ops import dispatch

NUMBERS = 2**17  # a block of rows has about as many numbers for each thread, half a MB in float32


def large(x: Tensor) -> bool:
    """Whether to work on blocks of x [N, ...]: it is on a CPU, has more than one block, and nothing traces the call.

    In the modes "plain" and "triton" of :func:`pfgnn.ops.use` the answer is no.
    """
    return dispatch.automatic() and x.device.type == "cpu" and x.numel() > NUMBERS


def blocks(rows: int, numbers: int) -> Iterator[slice]:
    """Divide rows into blocks.

    Args:
        rows: Number of rows.
        numbers: How many numbers a row has.
    """
    size = max(1, NUMBERS * torch.get_num_threads() // max(1, numbers))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))
