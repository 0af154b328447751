"""Random relabelling of the nodes. It must not change the distribution of a model's output."""

import numpy as np
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch

BITS = 32  # bits of the random sort key of a node; ties are rare, and the graph number fits into the bits above


def relabel(batch: GraphBatch, rng: np.random.Generator) -> tuple[GraphBatch, Tensor]:
    """Renumber the nodes of every graph at random.

    The rows of x and pos, and those of y at node level, move with their nodes. Edges are sorted by target again. The
    keys of the batch stay as they are. The order is drawn on the CPU, so it is the same on every device.

    Returns:
        The relabelled batch, and the new number of each node, shape [N].
    """
    draws = torch.from_numpy(rng.integers(2**BITS, size=len(batch.batch))).to(batch.batch.device)
    old = ((batch.batch << BITS) + draws).argsort(stable=True)  # node v was node old[v] of the same graph before
    new = torch.empty_like(old)
    new[old] = torch.arange(len(old), device=old.device)
    source, target = new[batch.edge_index]
    order = (target * len(new) + source).argsort(stable=True)
    rows = {name: None if value is None else value[old] for name, value in (("x", batch.x), ("pos", batch.pos))}
    relabelled = batch.with_fields(
        edge_index=torch.stack([source[order], target[order]]),
        edge_attr=None if batch.edge_attr is None else batch.edge_attr[order],
        y=batch.y[old] if batch.node_level and batch.y is not None else batch.y,
        **rows,
    )
    return relabelled, new
