"""Random relabelling of the nodes. It must not change the distribution of a model's output."""

import numpy as np
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.graphs.arrays import IntArray

BITS = 32  # bits of the random sort key of a node; ties are rare, and the graph number fits into the bits above


def relabel(batch: GraphBatch, rng: np.random.Generator) -> tuple[GraphBatch, Tensor]:
    """Renumber the nodes of every graph at random. The order is drawn on the CPU, so it is the same on every device.

    Returns:
        See :func:`reorder`.
    """
    return reorder(batch, sort_keys(len(batch.batch), rng))


def sort_keys(nodes: int, rng: np.random.Generator) -> IntArray:
    """Draw a random sort key for each node, shape [nodes]. Keys that are drawn in parts are those drawn at once."""
    return rng.integers(2**BITS, size=nodes)


def reorder(batch: GraphBatch, keys: IntArray) -> tuple[GraphBatch, Tensor]:
    """Renumber the nodes of every graph in the order of their sort keys.

    The rows of x and pos, and those of y at node level, move with their nodes. Edges are sorted by target again. The
    keys of the batch, which its random numbers follow from, stay as they are.

    Args:
        batch: The graphs.
        keys: Sort keys of the nodes, from :func:`sort_keys`, shape [N].

    Returns:
        The relabelled batch, and the new number of each node, shape [N].
    """
    draws = torch.from_numpy(keys).to(batch.batch.device)
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
