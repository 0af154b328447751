"""Padding: batches filled up to few shapes, each of which a CUDA graph can hold."""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError

Indices = npt.NDArray[np.int64]

MOST_LOOPS = 4  # at a node that is padding
PADDING_SIZE = 32  # about how many nodes a graph has that is padding, unless the loops need more


def choose_multiples(node_counts: Indices, edge_counts: Indices, batch_size: int) -> tuple[int, int] | None:
    """To multiples of what nodes and edges to pad batches, so that a handful of shapes occurs; None if one does.

    Args:
        node_counts, edge_counts: of the graphs of which batches are made.
        batch_size: graphs a batch.
    """
    if len(np.unique(node_counts)) == len(np.unique(edge_counts)) == 1:
        return None
    rows = min(batch_size, len(node_counts))
    nodes, edges = (2 ** round(math.log2(max(rows * counts.mean(), 128) / 16)) for counts in (node_counts, edge_counts))
    return nodes, edges


def pad_batch(batch: GraphBatch, node_multiple: int, edge_multiple: int) -> GraphBatch:
    """The batch with some graphs more, of enough nodes and loops to make round numbers.

    Nodes and edges grow to the next multiples of the two numbers, and graphs by a number that follows from the first,
    so that few shapes occur. The nodes are spread over the graphs, and the loops over the nodes, for what a graph or a
    node has may be summed one after the other.
    """
    if min(node_multiple, edge_multiple) < 1:
        raise InputError(f"multiples must be at least 1, but they are {node_multiple} and {edge_multiple}")
    nodes, edges = batch.batch.numel(), batch.edge_index.shape[1]
    graphs = -(-node_multiple // PADDING_SIZE)
    more, more_edges = graphs + -(nodes + graphs) % node_multiple, -edges % edge_multiple
    while more_edges > MOST_LOOPS * more:
        more += node_multiple

    def longer(rows: Tensor, by: int) -> Tensor:
        return torch.cat([rows, rows.new_zeros(by, *rows.shape[1:])])

    node = torch.arange(more, device=batch.batch.device)
    loops = (nodes + torch.arange(more_edges, device=node.device) * more // max(1, more_edges)).expand(2, -1)
    ends = torch.arange(graphs + 1, device=node.device) * more // graphs
    by = {"x": more, "pos": more, "node_key": more, "edge_attr": more_edges, "graph_key": graphs}
    by["y"] = more if batch.node_level else graphs
    return batch.with_fields(
        edge_index=torch.cat([batch.edge_index, loops], 1),
        batch=torch.cat([batch.batch, batch.num_graphs + torch.searchsorted(ends[1:], node, right=True)]),
        num_graphs=batch.num_graphs + graphs,
        padding=batch.padding + graphs,
        **{name: longer(rows, by[name]) for name, rows in batch.tensors().items() if name in by},
    )
