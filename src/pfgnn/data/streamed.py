"""Make batches of a dataset that stays on the disk: threads gather the graphs, and a GPU gets them ahead of time."""

import os
from collections import OrderedDict, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

import numpy as np
import torch

from pfgnn.data.batch import GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import GraphStore, Indices, Resident
from pfgnn.data.shards import WINDOW, Shards
from pfgnn.workers import available_cores

SHARE = 0.25  # of a device's memory; a dataset that needs more stays on the disk
BYTES_AT_ONCE = 2**24  # approximate size of the graphs that a thread gathers at once
MOST_THREADS = 8  # more would only wait for the device
MOST_OPEN = 2 * WINDOW  # shards that are mapped at a time: at the end of a window the next one begins


def place(dataset: Dataset | Shards, device: torch.device) -> GraphStore:
    """Put a dataset on a device. Shards that would take more than ``SHARE`` of its memory stay on the disk.

    The batches are the same either way.

    Args:
        dataset: The dataset.
        device: The device of the batches.
    """
    if isinstance(dataset, Shards) and dataset.bytes > SHARE * _memory(device):
        return Streamed(dataset, device)
    return Resident(dataset, device)


class Streamed(GraphStore):
    """Shards on the disk. Only what the next batches need is in memory.

    Groups of batches are gathered by threads, which leave the GIL while they read and copy. On a GPU, a group is copied
    from pinned memory on a stream of its own, while the model works on the group before.

    Args:
        shards: The dataset.
        device: The device of the batches.
    """

    def __init__(self, shards: Shards, device: torch.device | str = "cpu") -> None:
        super().__init__(shards, device)
        self.shards = shards
        self.graphs_at_once = min(self.graphs_at_once, BYTES_AT_ONCE * len(shards) // shards.bytes)
        self.open = _OpenShards(shards)
        self.threads = min(MOST_THREADS, available_cores())
        self.side = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None

    def batches(self, graphs: Indices, batch_size: int) -> Iterator[GraphBatch]:
        """The graphs with the given numbers in batches, in that order. The last batch may have fewer."""
        groups = self.groups(graphs, batch_size)
        pool = ThreadPoolExecutor(self.threads, "batches")
        gathered: deque[Future[tuple[Dataset, Indices]]] = deque()

        def gather_more() -> None:
            while len(gathered) <= self.threads and (group := next(groups, None)) is not None:
                gathered.append(pool.submit(self._gather, group))

        try:
            gather_more()
            coming = None
            while gathered or coming is not None:
                group = coming or _Group(*gathered.popleft().result(), self.device, self.side)
                coming = None
                gather_more()
                for batch in group.batches(batch_size):
                    if coming is None and gathered and gathered[0].done() and not gathered[0].exception():
                        coming = _Group(*gathered.popleft().result(), self.device, self.side)
                    yield batch
        finally:
            pool.shutdown(cancel_futures=True)

    def _gather(self, graphs: Indices) -> tuple[Dataset, Indices]:
        """A dataset with the given graphs, and the number of each of them in it."""
        distinct, places = np.unique(graphs, return_inverse=True)
        return self.shards.subset(distinct, self.open), places


class _Group:
    """Some graphs on their way to the device.

    Args:
        dataset: The graphs.
        places: Numbers of the graphs in the order of the batches.
        device: The device.
        side: The stream that copies them; None on a CPU.
    """

    def __init__(self, dataset: Dataset, places: Indices, device: torch.device, side: torch.cuda.Stream | None) -> None:
        self.places, self.copied = places, None
        with torch.cuda.stream(side):  # does nothing for None
            self.resident = Resident(dataset, device, pinned=side is not None)
            if side is not None:
                self.copied = side.record_event()

    def batches(self, batch_size: int) -> Iterator[GraphBatch]:
        """The batches, on the current stream, which waits for the copy."""
        if self.copied is not None:
            stream = torch.cuda.current_stream(self.resident.device)
            stream.wait_event(self.copied)
            for tensor in self.resident.tensors.values():
                tensor.record_stream(stream)  # its memory is not used again before this stream has read it
        return self.resident.batches(self.places, batch_size)


class _OpenShards:
    """The shards that were used last, mapped into memory. Threads may call it at the same time.

    Args:
        shards: The dataset.
    """

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        self.lock = Lock()
        self.used: OrderedDict[int, _OpenShard] = OrderedDict()

    def __call__(self, number: int) -> Dataset:
        """The shard with the given number."""
        with self.lock:
            entry = self.used.setdefault(number, _OpenShard())
            self.used.move_to_end(number)
            while len(self.used) > MOST_OPEN:
                self.used.popitem(last=False)
        with entry.lock:  # other threads may open other shards meanwhile
            if entry.dataset is None:
                entry.dataset = self.shards.shard(number)
            return entry.dataset


class _OpenShard:
    def __init__(self) -> None:
        self.lock = Lock()
        self.dataset: Dataset | None = None


def _memory(device: torch.device) -> int:
    """Bytes of memory of a device. On a CPU those of the machine; 0 if the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    known = getattr(os, "sysconf_names", {})
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if "SC_PHYS_PAGES" in known else 0
