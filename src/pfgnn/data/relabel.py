"""Random relabellings: what a model may not depend on, other than at random."""

import numpy as np
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch

BITS = 32  # of the random number that places a node: ties are rare, and a graph's number fits above it


def relabel(batch: GraphBatch, rng: np.random.Generator) -> tuple[GraphBatch, Tensor]:
    """The batch with the nodes of every graph numbered afresh at random, and the new number of each node, [N].

    Node rows move along, edges are sorted by target again, and graph keys stay. The order is drawn on the CPU, so it is
    the same on every device.
    """
    draws = torch.from_numpy(rng.integers(2**BITS, size=len(batch.batch))).to(batch.batch.device)
    old = ((batch.batch << BITS) + draws).argsort(stable=True)  # node v was old[v], of the same graph
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
