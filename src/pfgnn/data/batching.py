"""Batches: index lists turned into one graph of many by vectorised gathering, on any device."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.data.columns import check_numbers
from pfgnn.data.dataset import Dataset

Indices = npt.NDArray[np.int64]

# Batches are gathered this many nodes and edges at a time: enough to spread the ops' overhead, and some megabytes.
ROWS_AT_ONCE = 2**20
MOST_LOOPS = 4  # at a node that is padding
PADDING_SIZE = 32  # about how many nodes a graph has that is padding, unless the loops need more


class Batch(NamedTuple):
    """Several graphs as one: N nodes, E directed edges sorted by target, G graphs.

    Features keep the small dtypes they are stored in.

    Fields: ``x`` [N, F], with F = 0 where there are no features; ``edge_index`` [2, E]; ``edge_attr`` [E, Fe] or None;
    ``batch`` [N]; ``y`` [G, C], or [N, C] at ``node_level``; ``graph_key`` [G]; ``pos`` [N, 3] or None; ``sizes`` [G],
    nodes a graph; ``num_graphs``, without those that are padding.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    batch: Tensor
    y: Tensor
    graph_key: Tensor
    pos: Tensor | None
    sizes: Tensor
    num_graphs: int
    node_level: bool = False

    @property
    def row_start(self) -> Tensor:
        """Where each node's incoming edges begin, as in compressed sparse rows: [N + 1]."""
        degree = torch.bincount(self.edge_index[1], minlength=len(self.batch))
        return torch.nn.functional.pad(degree.cumsum(0), (1, 0))


class Resident:
    """A dataset's arrays as tensors on a device, in their small dtypes.

    Args: dataset: the dataset.  device: where the arrays live and the batches are made.
    """

    def __init__(self, dataset: Dataset, device: torch.device | str = "cpu") -> None:
        self.node_level = dataset.task.level == "node"
        classes = dataset.task.loss in ("cross_entropy", "weighted_cross_entropy", "none")
        self.y_dtype = torch.int64 if classes else torch.float32  # of integer targets, as the loss wants them
        self.device = torch.device(device)
        # What is known a graph stays on the CPU, so that no size has to be asked of the device.
        self.node_counts, self.edge_counts = (c.astype(np.int64) for c in (dataset.node_counts, dataset.edge_counts))
        self.node_first, self.edge_first = _before(self.node_counts), _before(self.edge_counts)
        source, target = dataset.edges
        num_nodes = int(self.node_counts.sum())
        arrays = {
            "x": np.zeros((num_nodes, 0), dtype=np.float32) if dataset.x is None else dataset.x,
            "edge_attr": dataset.edge_attr,
            "y": dataset.y,
            "key": dataset.key,
            "pos": dataset.pos,
            "source": source,
            "target": target,
        }
        self.graphs_at_once = ROWS_AT_ONCE * len(dataset) // (num_nodes + len(target))
        # Row numbers of half the width where they fit: what bounds a batch is the memory it moves.
        self.row_dtype = torch.int32 if max(num_nodes, len(target)) < 2**31 else torch.int64
        self.tensors = {
            name: torch.from_numpy(np.require(array, requirements=["C", "W"])).to(self.device)
            for name, array in arrays.items()
            if array is not None
        }

    def collate(self, graphs: npt.ArrayLike) -> Batch:
        """The batch of the graphs of the given numbers, in their order."""
        numbers = check_numbers("graphs", graphs, len(self.node_counts))
        if not len(numbers):
            raise ValueError("graphs must hold at least one number, but it is empty")
        return next(self.batches(numbers, len(numbers)))

    def batches(self, graphs: Indices, batch_size: int) -> Iterator[Batch]:
        """The graphs of the given numbers in batches: gathered all at once, for the ops' overhead, then cut up."""
        place = np.arange(len(graphs))
        begins, within = place[::batch_size], place % batch_size
        sizes, lengths = self.node_counts[graphs], self.edge_counts[graphs]
        nodes, edges = (np.add.reduceat(counts, begins) for counts in (sizes, lengths))  # of each batch
        first = _before(sizes)
        chosen, size = self._put(graphs), self._put(sizes)
        node_rows = self._spread(self.node_first[graphs], sizes, slope=1)
        edge_rows = self._spread(self.edge_first[graphs], lengths, slope=1)

        def gather(name: str, rows: Tensor) -> Tensor:
            return _rows(self.tensors[name], rows)

        edge_index = torch.stack([gather("source", edge_rows), gather("target", edge_rows)]).long()
        edge_index += self._spread(first - first[place - within], lengths)  # nodes are numbered within their batch
        y = gather("y", node_rows if self.node_level else chosen)

        n, e = nodes.tolist(), edges.tolist()
        nothing = [None] * len(n)
        columns = (  # in the order of Batch
            gather("x", node_rows).split(n),
            edge_index.split(e, 1),
            gather("edge_attr", edge_rows).split(e) if "edge_attr" in self.tensors else nothing,
            self._spread(within, sizes).long().split(n),
            (y if y.is_floating_point() else y.to(self.y_dtype)).split(n if self.node_level else batch_size),
            gather("key", chosen).long().split(batch_size),
            gather("pos", node_rows).split(n) if "pos" in self.tensors else nothing,
            size.split(batch_size),
            np.diff(begins, append=len(graphs)).tolist(),
            [self.node_level] * len(n),
        )
        yield from map(Batch._make, zip(*columns, strict=True))

    def _spread(self, values: Indices, counts: Indices, slope: int = 0) -> Tensor:
        """Numbers a graph as numbers a row: values[g] + slope * i in the i-th of the counts[g] rows of graph g.

        They are the running sum of the jumps where graphs begin: twice as fast as repeat_interleave on a CPU.
        """
        begins = _before(counts)
        jumps = np.diff(values - slope * begins, prepend=slope)
        # One place more, for the last graph may begin after the last row, if it has none.
        rises = torch.full((int(counts.sum()) + 1,), slope, dtype=self.row_dtype, device=self.device)
        return rises.index_add_(0, self._put(begins), self._put(jumps).to(self.row_dtype)).cumsum_(0)[:-1]

    def _put(self, numbers: Indices) -> Tensor:
        return torch.from_numpy(numbers).to(self.device)


class Loader:
    """The batches of an epoch.

    Args:
        dataset: a dataset, or one that is resident on a device already.
        graphs: the numbers of the graphs to go through; all by default.
        batch_size: graphs a batch; the last may have fewer.
        shuffle: a new order each epoch, which follows from seed and epoch alone; see :meth:`epoch`.
        seed: of the order.
        block: so many consecutive graphs stay together when shuffled, such as the two of a pair.
        pad: pad nodes and edges to multiples of these two numbers, so that few shapes occur; None for none.
        rank, world: which of how many devices this is; each gets every ``world``-th graph of a batch, and where the
            batch does not come out even, its first graph once more.
    """

    def __init__(
        self,
        dataset: Dataset | Resident,
        graphs: npt.ArrayLike | None = None,
        batch_size: int = 64,
        shuffle: bool = False,
        seed: int = 0,
        pad: tuple[int, int] | None = None,
        rank: int = 0,
        world: int = 1,
        block: int = 1,
    ) -> None:
        for name, value in (("batch_size", batch_size), ("pad", min(pad or [1])), ("world", world), ("block", block)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, but it is {value}")
        self.epochs_begun = 0
        self.resident = dataset if isinstance(dataset, Resident) else Resident(dataset)
        total = len(self.resident.node_counts)
        self.graphs = check_numbers("graphs", range(total) if graphs is None else graphs, total)
        self.batch_size, self.shuffle, self.seed, self.pad = batch_size, shuffle, seed, pad
        self.rank, self.world, self.block = rank, world, block
        if len(self.graphs) % block:
            raise ValueError(f"block must divide the number of graphs, {len(self.graphs)}, but it is {block}")

    def __len__(self) -> int:
        """Number of batches an epoch."""
        return -(-len(self.graphs) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        """The batches of the next epoch: 0 the first time, then 1, and so on."""
        self.epochs_begun += 1
        return self.epoch(self.epochs_begun - 1)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of one epoch from the ``start``-th on, in an order of the epoch's own if shuffled."""
        order = self.graphs
        if self.shuffle:
            order = np.random.default_rng([self.seed, number]).permutation(order.reshape(-1, self.block)).reshape(-1)
        order = self._own(order[start * self.batch_size :])
        batch_size = -(-self.batch_size // self.world)
        stride = batch_size * max(1, self.resident.graphs_at_once // batch_size)
        for begin in range(0, len(order), stride):
            for batch in self.resident.batches(order[begin : begin + stride], batch_size):
                yield batch if self.pad is None else pad_batch(batch, *self.pad)

    def _own(self, order: Indices) -> Indices:
        """This device's graphs of every batch."""
        if self.world == 1:
            return order
        own = []
        for begin in range(0, len(order), self.batch_size):
            batch = order[begin : begin + self.batch_size]
            mine = batch[self.rank :: self.world]
            own += [mine, batch[: -(-len(batch) // self.world) - len(mine)]]
        return np.concatenate(own) if own else order


def pad_batch(batch: Batch, node_multiple: int, edge_multiple: int) -> Batch:
    """The batch with some graphs more, of enough nodes and loops to make round numbers.

    Nodes and edges grow to the next multiples of the two numbers, and graphs by a number that follows from the first,
    so that few shapes occur. The nodes are spread over the graphs, and the loops over the nodes, for what a graph or a
    node has may be summed one after the other.
    """
    if min(node_multiple, edge_multiple) < 1:
        raise ValueError(f"multiples must be at least 1, but they are {node_multiple} and {edge_multiple}")
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
    return Batch(
        x=longer(batch.x, more),
        edge_index=torch.cat([batch.edge_index, loops], 1),
        edge_attr=None if batch.edge_attr is None else longer(batch.edge_attr, more_edges),
        batch=torch.cat([batch.batch, batch.num_graphs + torch.searchsorted(ends[1:], node, right=True)]),
        y=longer(batch.y, more if batch.node_level else graphs),
        graph_key=longer(batch.graph_key, graphs),
        pos=None if batch.pos is None else longer(batch.pos, more),
        sizes=torch.cat([batch.sizes, ends.diff().to(batch.sizes.dtype)]),
        num_graphs=batch.num_graphs,
        node_level=batch.node_level,
    )


def join_graphs(batch: Batch, count: int) -> Batch:
    """The batch with every ``count`` consecutive graphs as one graph, their disjoint union; at node level only."""
    if not batch.node_level:
        raise ValueError("graphs can be joined at node level only, for a graph's target is not that of a union")
    place = torch.arange(batch.num_graphs, device=batch.batch.device) // count
    graphs = -(-batch.num_graphs // count)
    return batch._replace(
        batch=batch.batch // count,
        graph_key=batch.graph_key[::count],
        sizes=batch.sizes.new_zeros(graphs).index_add(0, place, batch.sizes),
        num_graphs=graphs,
    )


def neighbour_lists(batch: Batch, width: int) -> tuple[Tensor, Tensor]:
    """Padded neighbour lists for graphs of bounded degree: sources and edge numbers, both [N, width], -1 for none.

    The nodes of graphs that are padding have none.
    """
    source, target = batch.edge_index
    real = batch.batch[target] < batch.num_graphs
    place = torch.arange(len(source), device=source.device)[real]
    source, target = source[real], target[real]
    column = place - batch.row_start[target]
    if len(source) and int(column.max()) >= width:
        raise ValueError(f"width must be at least the largest in-degree {int(column.max()) + 1}, but it is {width}")
    sources = source.new_full((len(batch.batch), width), -1)
    edges = sources.clone()
    sources[target, column], edges[target, column] = source, place
    return sources, edges


def _before(counts: Indices) -> Indices:
    """The sum of all counts before each one."""
    return np.cumsum(counts) - counts


def _rows(array: Tensor, rows: Tensor) -> Tensor:
    """The rows of an array [R] or [R, C]."""
    if array.dim() == 2 and array.shape[1] == 1:  # one axis is gathered several times as fast
        return array.view(-1).index_select(0, rows)[:, None]
    return array.index_select(0, rows)
