"""The sum of rectified messages that a node receives over edges with features, as in GINE."""

from torch import Tensor

from pfgnn.kernels.segments import Segments, segment_sum, spread


def sum_messages(x: Tensor, edge_attr: Tensor, own: Tensor, sources: Segments, targets: Segments) -> Tensor:
    """own · x_i + Σ_{edges (j, i)} relu(x_j + e_ij) for every node i.

    Args:
        x: [N, D] or [N, K, D].
        edge_attr: e, [E, D], the same for all K particles.
        own: the weight of a node's own row, [].
        sources, targets: of the edges, which lie in order of their targets.
    Returns: like x.
    """
    e = edge_attr[:, None] if x.dim() == 3 else edge_attr  # [E, 1, D] or [E, D]
    return own * x + segment_sum((spread(x, sources) + e).relu(), targets)
