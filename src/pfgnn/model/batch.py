"""The graphs of one forward pass, and the checks on what a caller hands in."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pfgnn.ops.segments import Segments, make_segments


@dataclass(frozen=True)
class GraphBatch:
    """Several graphs as one: N nodes, E directed edges, G graphs.

    Args:
        edge_index: [2, E], in order of the targets.
        edge_attr: [E, ...], or None.
        batch: the sorted graph number of each node, [N].
        num_graphs: G.
        padding: how many of the graphs, the last ones, only fill up the batch.
    """

    edge_index: Tensor
    edge_attr: Tensor | None
    batch: Tensor
    num_graphs: int
    padding: int = 0

    @cached_property
    def nodes(self) -> Segments:
        """The nodes of each graph."""
        return make_segments(self.batch, self.num_graphs, ordered=True)

    @cached_property
    def sources(self) -> Segments:
        """The edges that leave each node."""
        return make_segments(self.edge_index[0], len(self.batch), ordered=False, other=self.edge_index[1])

    @cached_property
    def targets(self) -> Segments:
        """The edges that reach each node."""
        return make_segments(self.edge_index[1], len(self.batch), ordered=True)

    @cached_property
    def sizes(self) -> Tensor:
        """Nodes per graph, [G]."""
        return self.nodes.counts

    @property
    def first(self) -> Tensor:
        """The first node of each graph, [G]."""
        return self.sizes.cumsum(0) - self.sizes


def make_batch(
    x: Tensor | None, edge_index: Tensor, edge_attr: Tensor | None, batch: Tensor | None, num_graphs: int | None = None
) -> GraphBatch:
    """Check the arguments of a forward pass and bind them together; one sentence says what is wrong.

    A caller who gives ``num_graphs`` vouches for the rest, also for edges in order of their targets: nothing is
    checked, and nothing waits for the device.
    """
    if num_graphs is not None and batch is not None:
        return GraphBatch(edge_index, edge_attr, batch, num_graphs)
    for name, value in (("x", x), ("edge_index", edge_index), ("edge_attr", edge_attr), ("batch", batch)):
        if not isinstance(value, Tensor) and (value is not None or name == "edge_index"):
            raise TypeError(f"{name} must be a torch tensor, but it is a {type(value).__name__}")
    num_nodes = _num_nodes(x, batch)
    if x is not None and not torch.isfinite(x).all():
        raise ValueError("x must be finite, but it holds NaN or infinity")
    if edge_index.dtype != torch.int64:
        raise TypeError(f"edge_index must have dtype int64, but it has {_name(edge_index)}")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must have shape [2, E], but it has {list(edge_index.shape)}")
    if edge_index.numel() and not (int(edge_index.min()) >= 0 and int(edge_index.max()) < num_nodes):
        low, high = int(edge_index.min()), int(edge_index.max())
        raise ValueError(f"edge_index must lie in 0..{num_nodes - 1} for {num_nodes} nodes, but it spans {low}..{high}")
    if edge_attr is not None:
        if edge_attr.shape[:1] != edge_index.shape[1:]:
            raise ValueError(
                f"edge_attr must have one row for each of {edge_index.shape[1]} edges, "
                f"but its shape is {list(edge_attr.shape)}"
            )
        if not torch.isfinite(edge_attr).all():
            raise ValueError("edge_attr must be finite, but it holds NaN or infinity")
    if batch is None:
        batch = torch.zeros(num_nodes, dtype=torch.int64, device=edge_index.device)
    return _ordered(edge_index, edge_attr, batch, _count_graphs(edge_index, batch))


def _num_nodes(x: Tensor | None, batch: Tensor | None) -> int:
    if x is None and batch is None:
        raise ValueError("x is None, so batch must be given to say how many nodes there are")
    if x is not None and x.dim() != 2:
        raise ValueError(f"x must have shape [N, F], but it has {list(x.shape)}")
    if batch is not None and batch.dtype != torch.int64:
        raise TypeError(f"batch must have dtype int64, but it has {_name(batch)}")
    if batch is not None and batch.dim() != 1:
        raise ValueError(f"batch must have shape [N], but it has {list(batch.shape)}")
    if x is not None and batch is not None and len(x) != len(batch):
        raise ValueError(f"batch must have one entry per node, but it has {len(batch)} for {len(x)} rows of x")
    num_nodes = max(0 if x is None else len(x), 0 if batch is None else len(batch))
    if num_nodes == 0:
        raise ValueError("the batch is empty: x must hold at least one node")
    return num_nodes


def _count_graphs(edge_index: Tensor, batch: Tensor) -> int:
    if (batch[1:] < batch[:-1]).any() or int(batch[0]) < 0:
        raise ValueError("batch must be sorted and not negative, but it is not")
    gaps = (batch[1:] - batch[:-1] > 1).nonzero()
    if len(gaps) or int(batch[0]) > 0:
        missing = int(batch[gaps[0]]) + 1 if len(gaps) and int(batch[0]) == 0 else 0
        raise ValueError(f"batch must name every graph from 0 on, but graph {missing} has no node")
    crossing = batch[edge_index[0]] != batch[edge_index[1]]
    if crossing.any():
        u, v = edge_index[:, crossing][:, 0].tolist()
        raise ValueError(f"edge_index must stay within a graph, but edge ({u}, {v}) joins two graphs of batch")
    return int(batch[-1]) + 1


def _ordered(edge_index: Tensor, edge_attr: Tensor | None, batch: Tensor, num_graphs: int) -> GraphBatch:
    target = edge_index[1]
    if (target[1:] < target[:-1]).any():
        order = target.argsort(stable=True)
        edge_index = edge_index[:, order]
        edge_attr = None if edge_attr is None else edge_attr[order]
    return GraphBatch(edge_index, edge_attr, batch, num_graphs)


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
