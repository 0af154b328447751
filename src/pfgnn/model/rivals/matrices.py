"""Graphs as matrices: the row and column of each node in the matrix of its graph."""

import torch
from torch import Tensor

from pfgnn.ops.segments import make_segments


def places(batch: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    """The row of each node in the matrix of its graph, and the number of rows of each matrix.

    Args:
        batch: Graph number of each node, sorted, shape [N].
        num_graphs: G.

    Returns:
        The row of each node, shape [N].
        The number of rows, shape [G].
    """
    sizes = make_segments(batch, num_graphs, ordered=True).counts
    first = sizes.cumsum(0) - sizes
    return torch.arange(len(batch), device=batch.device) - first[batch], sizes
