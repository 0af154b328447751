"""Make batches on any device: the rows of the chosen graphs are gathered with a few vectorised operations."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.argument_checks import check_flag, check_positive
from pfgnn.data.arrays import check_items, check_numbers
from pfgnn.data.batch import GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.padding import choose_multiples, pad_batch
from pfgnn.data.shards import Shards, shuffle_in_windows
from pfgnn.data.task import CLASS_LOSSES
from pfgnn.errors import InputError, InputTypeError

Indices = npt.NDArray[np.int64]

# Batches are gathered in groups of about this many nodes and edges. This is large enough to make the overhead of the
# operations small, and takes some megabytes.
ROWS_AT_ONCE = 2**20


class GraphStore(ABC):
    """Graphs of which batches are made on a device.

    Args:
        dataset: The dataset.
        device: The device of the batches.
    """

    def __init__(self, dataset: Dataset | Shards, device: torch.device | str) -> None:
        self.node_counts, self.edge_counts = dataset.node_counts, dataset.edge_counts
        self.node_level = dataset.task.level == "node"
        classes = dataset.task.loss in (*CLASS_LOSSES, "none")
        self.y_dtype = torch.int64 if classes else torch.float32  # the dtype that the loss needs for integer targets
        self.device = torch.device(device)
        self.shard_first = dataset.first if isinstance(dataset, Shards) else None
        rows = int(self.node_counts.sum(dtype=np.int64)) + int(self.edge_counts.sum(dtype=np.int64))
        self.graphs_at_once = ROWS_AT_ONCE * len(dataset) // rows

    @abstractmethod
    def batches(self, graphs: Indices, batch_size: int) -> Iterator[GraphBatch]:
        """The graphs with the given numbers in batches, in that order. The last batch may have fewer."""

    def multiples(self, graphs: Indices, batch_size: int) -> tuple[int, int] | None:
        """The multiples to which batches of these graphs are padded. See :func:`choose_multiples`."""
        return choose_multiples(self.node_counts[graphs], self.edge_counts[graphs], batch_size)

    def collate(self, graphs: npt.ArrayLike) -> GraphBatch:
        """One batch of the graphs with the given numbers, in that order."""
        numbers = check_numbers("graphs", graphs, len(self.node_counts))
        if not len(numbers):
            raise InputError("graphs must hold at least one number, but it is empty")
        return next(self.batches(numbers, len(numbers)))

    def groups(self, graphs: Indices, batch_size: int) -> Iterator[Indices]:
        """Split graph numbers into groups of whole batches. A group is as large as can be gathered at once."""
        stride = batch_size * max(1, self.graphs_at_once // batch_size)
        return (graphs[begin : begin + stride] for begin in range(0, len(graphs), stride))


class Resident(GraphStore):
    """The arrays of a dataset as tensors on a device, in their small dtypes.

    Args:
        dataset: The dataset. Shards are read one after another.
        device: The device that stores the tensors and makes the batches.
        pinned: Copy a dataset through pinned memory, on the current stream of a GPU, and do not wait for it.
    """

    def __init__(self, dataset: Dataset | Shards, device: torch.device | str = "cpu", pinned: bool = False) -> None:
        super().__init__(dataset, device)
        # The counts stay on the CPU, so that no size has to be read from the device.
        self.node_counts, self.edge_counts = (c.astype(np.int64) for c in (self.node_counts, self.edge_counts))
        self.node_first, self.edge_first = _before(self.node_counts), _before(self.edge_counts)
        if isinstance(dataset, Shards):
            self.tensors = self._filled(dataset)
        else:
            self.tensors = {
                name: (tensor.pin_memory() if pinned else tensor).to(self.device, non_blocking=pinned)
                for name, tensor in _tensors(dataset).items()
            }
        # Use int32 for row numbers if they fit: the speed of making a batch is limited by memory traffic.
        most = max(len(self.tensors["x"]), len(self.tensors["target"]))
        self.row_dtype = torch.int32 if most < 2**31 else torch.int64

    def _filled(self, shards: Shards) -> dict[str, Tensor]:
        """The tensors of all shards, filled shard by shard, so that not much more memory is needed than for them."""
        N, E, G = int(self.node_counts.sum()), int(self.edge_counts.sum()), len(shards)
        rows = {"x": N, "pos": N, "source": E, "target": E, "edge_attr": E, "key": G, "y": N if self.node_level else G}
        whole: dict[str, Tensor] = {}
        done = dict.fromkeys(rows, 0)
        for dataset in shards.each():
            for name, tensor in _tensors(dataset).items():
                if name not in whole:
                    dtype = torch.int64 if name == "key" else tensor.dtype  # a dataset stores small keys in fewer bytes
                    whole[name] = torch.empty(rows[name], *tensor.shape[1:], dtype=dtype, device=self.device)
                whole[name][done[name] : done[name] + len(tensor)] = tensor
                done[name] += len(tensor)
        return whole

    def batches(self, graphs: Indices, batch_size: int) -> Iterator[GraphBatch]:
        """The graphs with the given numbers in batches, in that order. The last batch may have fewer."""
        for group in self.groups(graphs, batch_size):
            yield from self._gather(group, batch_size)

    def _gather(self, graphs: Indices, batch_size: int) -> Iterator[GraphBatch]:
        """The batches of some graphs. They are gathered all at once to save overhead, then split."""
        place = np.arange(len(graphs))
        begins, within = place[::batch_size], place % batch_size
        sizes, lengths = self.node_counts[graphs], self.edge_counts[graphs]
        nodes, edges = (np.add.reduceat(counts, begins) for counts in (sizes, lengths))  # totals of each batch
        first = _before(sizes)
        chosen = self._put(graphs)
        node_rows = self._spread(self.node_first[graphs], sizes, slope=1)
        edge_rows = self._spread(self.edge_first[graphs], lengths, slope=1)

        def gather(name: str, rows: Tensor) -> Tensor:
            return _rows(self.tensors[name], rows)

        edge_index = torch.stack([gather("source", edge_rows), gather("target", edge_rows)]).long()
        edge_index += self._spread(first - first[place - within], lengths)  # nodes are numbered within their batch
        y = gather("y", node_rows if self.node_level else chosen)

        n, e = nodes.tolist(), edges.tolist()
        nothing = [None] * len(n)
        columns = {
            "edge_index": edge_index.split(e, 1),
            "batch": self._spread(within, sizes).long().split(n),
            "num_graphs": np.diff(begins, append=len(graphs)).tolist(),
            "x": gather("x", node_rows).split(n),
            "edge_attr": gather("edge_attr", edge_rows).split(e) if "edge_attr" in self.tensors else nothing,
            "y": (y if y.is_floating_point() else y.to(self.y_dtype)).split(n if self.node_level else batch_size),
            "pos": gather("pos", node_rows).split(n) if "pos" in self.tensors else nothing,
            "graph_key": gather("key", chosen).long().split(batch_size),
        }
        for fields in zip(*columns.values(), strict=True):
            yield GraphBatch(**dict(zip(columns, fields, strict=True)), node_level=self.node_level)

    def _spread(self, values: Indices, counts: Indices, slope: int = 0) -> Tensor:
        """Turn one number per graph into one number per row: row i of graph g gets values[g] + slope * i.

        This is the cumulative sum of the jumps at the first rows of the graphs. On a CPU it is twice as fast as
        repeat_interleave.

        Args:
            values: One number per graph, shape [G].
            counts: Number of rows of each graph, shape [G].
            slope: Increase from one row of a graph to the next.
        """
        begins = _before(counts)
        jumps = np.diff(values - slope * begins, prepend=slope)
        # One entry more, because a last graph without rows begins after the last row.
        rises = torch.full((int(counts.sum()) + 1,), slope, dtype=self.row_dtype, device=self.device)
        return rises.index_add_(0, self._put(begins), self._put(jumps).to(self.row_dtype)).cumsum_(0)[:-1]

    def _put(self, numbers: Indices) -> Tensor:
        return torch.from_numpy(numbers).to(self.device)


class Loader:
    """Batches of a dataset. Each iteration is one epoch.

    Args:
        dataset: A dataset, or a :class:`GraphStore`, such as a dataset that is already on a device.
        graphs: Numbers of the graphs to use. By default all.
        batch_size: Graphs per batch. The last batch may have fewer.
        shuffle: Use a new order in each epoch. It depends only on the seed and the number of the epoch. Every order is
            equally likely, unless the dataset has many shards, see
            :func:`pfgnn.data.shards.shuffle_in_windows`.
        seed: Seed of the order.
        pad: Pad nodes and edges to multiples of these two numbers, so that few shapes occur. None for no padding.
        rank: Number of this device, from 0.
        world: Number of devices. Device ``rank`` gets every ``world``-th graph of a batch, from graph ``rank`` on. A
            device that would get one graph fewer than others also gets the first graph of the batch.
        weights: Weight of each of ``graphs``, [n], with ``shuffle``. An epoch has n graphs as without weights. Graph i
            is in it n w_i / Σ w times on average: this number rounded down or up, at random.
    """

    def __init__(
        self,
        dataset: Dataset | GraphStore,
        graphs: npt.ArrayLike | None = None,
        batch_size: int = 64,
        shuffle: bool = False,
        seed: int = 0,
        pad: tuple[int, int] | None = None,
        rank: int = 0,
        world: int = 1,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> None:
        if not isinstance(dataset, Dataset | GraphStore):
            raise InputTypeError(f"dataset must be a Dataset or a GraphStore, but it is a {type(dataset).__name__}")
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("world", world, 1),
            ("rank", rank, 0),
            ("seed", seed, 0),
        ):
            check_positive(name, value, least)
        check_flag("shuffle", shuffle)
        for multiple in check_items("pad", () if pad is None else pad):
            check_positive("pad", multiple)
        self.epochs_begun = 0
        self.store = dataset if isinstance(dataset, GraphStore) else Resident(dataset)
        total = len(self.store.node_counts)
        self.graphs = check_numbers("graphs", range(total) if graphs is None else graphs, total)
        self.batch_size, self.shuffle, self.seed, self.pad = batch_size, shuffle, seed, pad
        self.rank, self.world, self.weights = rank, world, weights
        if weights is not None and np.shape(weights) != self.graphs.shape:
            raise InputError(f"weights must have shape {[len(self.graphs)]}, but it has {list(np.shape(weights))}")

    def __len__(self) -> int:
        """Number of batches per epoch."""
        return -(-len(self.graphs) // self.batch_size)

    def __iter__(self) -> Iterator[GraphBatch]:
        """The batches of the next epoch. The first iteration is epoch 0, the next is epoch 1, and so on."""
        self.epochs_begun += 1
        return self.epoch(self.epochs_begun - 1)

    def epoch(self, number: int, start: int = 0) -> Iterator[GraphBatch]:
        """The batches of one epoch, from batch ``start`` on. With ``shuffle``, each epoch has its own order."""
        for batch in self.store.batches(self.order(number, start), -(-self.batch_size // self.world)):
            yield batch if self.pad is None else pad_batch(batch, *self.pad)

    def order(self, number: int, start: int = 0) -> Indices:
        """The numbers of this device's graphs in one epoch, from batch ``start`` on."""
        order = self.graphs
        if self.shuffle:
            rng = np.random.default_rng([self.seed, number])
            order = rng.permutation(order if self.weights is None else _drawn(order, self.weights, rng))
            if self.store.shard_first is not None:
                order = shuffle_in_windows(order, self.store.shard_first, rng)
        return self._own(order[start * self.batch_size :])

    def _own(self, order: Indices) -> Indices:
        """The graphs of every batch that belong to this device."""
        if self.world == 1:
            return order
        own = []
        for begin in range(0, len(order), self.batch_size):
            batch = order[begin : begin + self.batch_size]
            mine = batch[self.rank :: self.world]
            own += [mine, batch[: -(-len(batch) // self.world) - len(mine)]]
        return np.concatenate(own) if own else order


def _drawn(graphs: Indices, weights: npt.NDArray[np.float64], rng: np.random.Generator) -> Indices:
    """As many graphs as there are, each in proportion to its weight (systematic sampling)."""
    n, shares = len(graphs), np.cumsum(weights) / np.sum(weights)
    ends = np.minimum(np.floor(n * shares + rng.random()), n)
    ends[-1] = n  # it may be n - 1 through rounding
    return np.repeat(graphs, np.diff(ends, prepend=0.0).astype(np.int64))


def _tensors(dataset: Dataset) -> dict[str, Tensor]:
    """The arrays that batches are made of, by name, on the CPU."""
    source, target = dataset.edges
    arrays = {
        "x": np.zeros((int(dataset.node_counts.sum()), 0), dtype=np.float32) if dataset.x is None else dataset.x,
        "edge_attr": dataset.edge_attr,
        "y": dataset.y,
        "key": dataset.key,
        "pos": dataset.pos,
        "source": source,
        "target": target,
    }
    return {
        name: torch.from_numpy(np.require(array, requirements=["C", "W"]))
        for name, array in arrays.items()
        if array is not None
    }


def _before(counts: Indices) -> Indices:
    """The sum of all counts before each one."""
    return np.cumsum(counts) - counts


def _rows(array: Tensor, rows: Tensor) -> Tensor:
    """The rows of an array [R] or [R, C]."""
    if array.dim() == 2 and array.shape[1] == 1:  # it is several times faster to gather from one axis
        return array.view(-1).index_select(0, rows)[:, None]
    return array.index_select(0, rows)
