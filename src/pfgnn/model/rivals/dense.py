"""Graphs as matrices: where each node stands in its graph's rows and columns."""

import torch
from torch import Tensor

from pfgnn.ops.segments import make_segments


def places(batch: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    """Each node's row in the matrices of its graph, and the number of rows: batch [N] -> [N], [G]."""
    sizes = make_segments(batch, num_graphs, ordered=True).counts
    first = sizes.cumsum(0) - sizes
    return torch.arange(len(batch), device=batch.device) - first[batch], sizes
