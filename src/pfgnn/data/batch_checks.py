"""Checks of the tensors from which a batch is made."""

from typing import Any

import torch
from torch import Tensor

from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.graphs.convert import check_dense


def check_types(**arguments: Any) -> None:
    """Raise an InputTypeError unless all arguments are dense tensors. All but edge_index may be None."""
    for name, value in arguments.items():
        if not isinstance(value, Tensor) and (value is not None or name == "edge_index"):
            raise InputTypeError(f"{name} must be a torch tensor, but it is a {type(value).__name__}")
        if value is not None:
            check_dense(name, value)


def check_edges(edge_index: Tensor, edge_attr: Tensor | None) -> None:
    """Raise an error unless dtypes and shapes of the edges are right."""
    if edge_index.dtype != torch.int64:
        raise InputTypeError(f"edge_index must have dtype int64, but it has {_name(edge_index)}")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(f"edge_index must have shape [2, E], but it has {list(edge_index.shape)}")
    if edge_attr is not None and edge_attr.shape[:1] != edge_index.shape[1:]:
        raise InputError(
            f"edge_attr must have one row for each of {edge_index.shape[1]} edges, "
            f"but its shape is {list(edge_attr.shape)}"
        )


def check_positions(pos: Tensor | None, num_nodes: int) -> None:
    """Raise an error unless the positions, if any, are floats with one row per node."""
    if pos is None:
        return
    if not pos.is_floating_point():
        raise InputTypeError(f"pos must hold floats, but it has dtype {_name(pos)}")
    if pos.dim() != 2 or pos.shape[0] != num_nodes:
        raise InputError(f"pos must have one row for each of {num_nodes} nodes, but its shape is {list(pos.shape)}")


def check_ends(edge_index: Tensor, num_nodes: int) -> None:
    """Raise an InputError unless all edges join two of the nodes."""
    if edge_index.numel() and not (int(edge_index.min()) >= 0 and int(edge_index.max()) < num_nodes):
        low, high = int(edge_index.min()), int(edge_index.max())
        raise InputError(f"edge_index must lie in 0..{num_nodes - 1} for {num_nodes} nodes, but it spans {low}..{high}")


def check_finite(name: str, values: Tensor | None, graph: Tensor) -> None:
    """Raise an error if values [R, ...] hold NaN or infinity. ``graph`` [R] is the graph of each row."""
    if values is not None and not (finite := values.isfinite()).all():
        row = int((~finite.reshape(len(finite), -1).all(1)).nonzero()[0])
        raise InputError(f"{name} must be finite, but in graph {int(graph[row])} it holds NaN or infinity")


def check_key(argument: str, key: Tensor, length: int) -> Tensor:
    """Return the key. Raise an error unless it is int64 of the right length."""
    if not isinstance(key, Tensor):
        raise InputTypeError(f"{argument} must be a torch tensor, but it is a {type(key).__name__}")
    if key.dtype != torch.int64:
        raise InputTypeError(f"{argument} must have dtype int64, but it has {key.dtype}")
    if key.shape != (length,):
        raise InputError(f"{argument} must have shape {[length]}, but it has {list(key.shape)}")
    return key


def count_nodes(x: Tensor | None, batch: Tensor | None) -> int:
    """Number of nodes. Raise an error unless dtypes and shapes of both tensors are right."""
    if x is None and batch is None:
        raise InputError("x is None, so batch must be given to say how many nodes there are")
    if x is not None and x.is_complex():
        raise InputTypeError(f"x must hold real numbers, but it has dtype {_name(x)}")
    if x is not None and x.dim() != 2:
        raise InputError(f"x must have shape [N, F], but it has {list(x.shape)}")
    if batch is not None and batch.dtype != torch.int64:
        raise InputTypeError(f"batch must have dtype int64, but it has {_name(batch)}")
    if batch is not None and batch.dim() != 1:
        raise InputError(f"batch must have shape [N], but it has {list(batch.shape)}")
    if x is not None and batch is not None and x.shape[0] != batch.shape[0]:
        raise InputError(f"batch must have one entry per node, but it has {len(batch)} for {len(x)} rows of x")
    num_nodes = max(0 if x is None else x.shape[0], 0 if batch is None else batch.shape[0])
    if num_nodes == 0:
        raise InputError("the batch is empty: x must hold at least one node")
    return num_nodes


def count_graphs(edge_index: Tensor, batch: Tensor, batch_size: int | None) -> int:
    """Number of graphs. Raise an InputError unless batch is sorted, has no gaps, and no edge joins two graphs.

    Args:
        edge_index: The edges, shape [2, E].
        batch: Graph number of each node, shape [N].
        batch_size: The number that the caller gave; None if it gave none.
    """
    if (batch[1:] < batch[:-1]).any() or int(batch[0]) < 0:
        raise InputError("batch must be sorted and not negative, but it is not")
    gaps = (batch[1:] - batch[:-1] > 1).nonzero()
    if len(gaps) or int(batch[0]) > 0:
        missing = int(batch[gaps[0]]) + 1 if len(gaps) and int(batch[0]) == 0 else 0
        raise InputError(f"batch must name every graph from 0 on, but graph {missing} has no node")
    crossing = batch[edge_index[0]] != batch[edge_index[1]]
    if crossing.any():
        u, v = edge_index[:, crossing][:, 0].tolist()
        raise InputError(f"edge_index must stay within a graph, but edge ({u}, {v}) joins two graphs of batch")
    found = int(batch[-1]) + 1
    if batch_size is not None and batch_size != found:
        raise InputError(f"batch_size must be the number of graphs in batch, {found}, but it is {shown(batch_size)}")
    return found


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
