"""Padding: fill up batches so that only a few shapes occur, because a CUDA graph works for one shape."""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError

Indices = npt.NDArray[np.int64]

MOST_LOOPS = 4  # largest number of self-loops at a padding node
PADDING_SIZE = 32  # approximate number of nodes of a padding graph, unless the self-loops need more nodes


def choose_multiples(node_counts: Indices, edge_counts: Indices, batch_size: int) -> tuple[int, int] | None:
    """Choose the multiples to which nodes and edges of batches are padded, so that only a few shapes occur.

    Args:
        node_counts: Number of nodes of each graph.
        edge_counts: Number of edges of each graph.
        batch_size: Graphs per batch.

    Returns:
        The multiple for nodes and the multiple for edges. None if all graphs have the same numbers of nodes and edges.
    """
    if len(np.unique(node_counts)) == len(np.unique(edge_counts)) == 1:
        return None
    rows = min(batch_size, len(node_counts))
    nodes, edges = (2 ** round(math.log2(max(rows * counts.mean(), 128) / 16)) for counts in (node_counts, edge_counts))
    return nodes, edges


def pad_batch(batch: GraphBatch, node_multiple: int, edge_multiple: int) -> GraphBatch:
    """Add padding graphs to a batch, so that its numbers of nodes and edges are multiples of two given numbers.

    The padding edges are self-loops. The number of padding graphs depends only on ``node_multiple``, so that few shapes
    occur. The nodes are spread evenly over the graphs, and the self-loops over the nodes, because an operation may sum
    all that belongs to a graph or a node sequentially.

    Args:
        batch: The batch.
        node_multiple: The number of nodes becomes a multiple of this.
        edge_multiple: The number of edges becomes a multiple of this.
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
