"""A dataset in many packed files: a folder of shards. Its arrays are mapped into memory one shard at a time.

The folder holds:

1. 00000.pfgnn, 00001.pfgnn, ...: the shards. Each is an ordinary packed file, with some of the graphs.
2. index.json: what all shards share (name, task, categories), and the counts and the checksum of each.
3. parts-CHECKSUM.pfgnn: the graph numbers of the parts, if there are any. Graphs are numbered through all shards.
"""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, check_numbers
from pfgnn.data.dataset import Dataset
from pfgnn.data.packed import DTYPES, read_header, read_packed
from pfgnn.data.task import Task
from pfgnn.errors import InputError, shown
from pfgnn.files import check_version, read_json, reading

INDEX = "index.json"
FORMAT = 1
REMEDY = "write the folder again"
SIZES = ("node_counts", "edge_counts", "y")  # the arrays that are read when a folder is opened
WINDOW = 16  # shards whose graphs are shuffled together
SAMPLE = 64  # graphs that show which arrays a dataset has

Change = Callable[[Dataset, bool], Dataset]


class Shard(NamedTuple):
    """One file of a folder.

    Fields:
        file: Name of the file.
        graphs: Number of its graphs.
        nodes: Number of their nodes.
        edges: Number of their directed edges.
        bytes: Size of the file.
        checksum: Checksum of its header, which holds the checksums of all arrays.
    """

    file: str
    graphs: int
    nodes: int
    edges: int
    bytes: int
    checksum: str


@dataclass(frozen=True, eq=False, repr=False)
class Shards:
    """G graphs in a folder of packed files. Only the sizes and targets of the graphs are in memory.

    Make one with :meth:`open`. Write a folder with :func:`pfgnn.data.shard_writer.write_shards`.

    Args:
        folder: The folder.
        name: Name of the dataset.
        task: What is predicted.
        shards: The files.
        dtypes: The dtype of each array. A shard may have a smaller one.
        node_counts: Number of nodes of each graph, shape [G].
        edge_counts: Number of directed edges of each graph, shape [G].
        y: Targets of all graphs, as in :class:`Dataset`.
        splits: Graph numbers of each part.
        about: Source, citation and notes.
        checksum: A checksum of all shards and parts.
        change: Applied to all graphs that are taken out, such as a function that removes edge features. It treats each
            graph on its own, and keeps nodes and targets. Its second argument is whether it gets a whole shard, so that
            it is worth storing what it computes.
    """

    folder: Path
    name: str
    task: Task
    shards: tuple[Shard, ...]
    dtypes: Mapping[str, str]
    node_counts: Array
    edge_counts: Array
    y: Array
    splits: Mapping[str, Array]
    about: Mapping[str, str]
    checksum: str
    change: Change = field(default=lambda dataset, whole: dataset)

    @staticmethod
    def open(path: str | Path) -> "Shards":
        """Open a folder of shards. Its arrays are read and checked later, when they are needed."""
        folder = Path(path)
        if not is_folder(folder):
            raise InputError(f"{folder} must be a folder of shards with an {INDEX}, but it is not")
        index = read_json(folder / INDEX)
        with reading(folder / INDEX, "be the index of a folder of shards"):
            check_version(folder / INDEX, index["format"], FORMAT)
            if not set(index["dtypes"].values()) <= DTYPES or not index["shards"]:
                raise InputError(f"{folder / INDEX} must name shards and dtypes of arrays; {REMEDY}")
            shards = tuple(Shard(**entry) for entry in index["shards"])
            task = Task.from_json(index["task"])
        graphs = sum(shard.graphs for shard in shards)
        parts = _read_parts(folder, index.get("parts"), graphs)
        sizes = [_sizes(folder, shard) for shard in shards]
        node_counts, edge_counts, y = (
            np.concatenate([arrays[name] for arrays in sizes]).astype(index["dtypes"][name]) for name in SIZES
        )
        marks = [shard.checksum for shard in shards], index.get("parts")
        return Shards(
            folder,
            index["name"],
            task,
            shards,
            index["dtypes"],
            node_counts,
            edge_counts,
            y,
            parts,
            index["about"],
            checksum=f"{zlib.crc32(json.dumps(marks).encode()):08x}",
        )

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.node_counts)

    def __repr__(self) -> str:
        """One line: name, counts and task."""
        nodes, edges = (sum(getattr(shard, name) for shard in self.shards) for name in ("nodes", "edges"))
        counts = f"{len(self):,} graphs, {nodes:,} nodes, {edges:,} edges in {len(self.shards)} shards"
        return f"Shards({self.name}: {counts}; {self.task.level} level)"

    @cached_property
    def first(self) -> Array:
        """The number of the first graph of each shard, and the number of all graphs, shape [S + 1]."""
        return np.cumsum([0, *(shard.graphs for shard in self.shards)])

    @cached_property
    def sample(self) -> Dataset:
        """A few graphs, to see which arrays and columns there are."""
        return self.subset(np.arange(min(SAMPLE, self.shards[0].graphs)))

    @property
    def in_channels(self) -> int | tuple[int, ...]:
        """As of a :class:`Dataset`."""
        return self.sample.in_channels

    @property
    def edge_channels(self) -> int | tuple[int, ...] | None:
        """As of a :class:`Dataset`."""
        return self.sample.edge_channels

    @property
    def bytes(self) -> int:
        """Approximate size of all arrays, with the changes."""
        stored = sum(shard.bytes for shard in self.shards)
        small = self.shard(0).subset(range(len(self.sample)))
        return int(stored * _bytes(self.sample) / _bytes(small))

    def shard(self, number: int) -> Dataset:
        """Map one shard into memory and check it. The changes are not applied."""
        path = _checked(self.folder, self.shards[number])
        dataset = Dataset.open(path)
        if (dataset.task, len(dataset)) != (self.task, self.shards[number].graphs):
            raise InputError(f"{path} must have the task and the number of graphs that {INDEX} says; {REMEDY}")
        return dataset

    def subset(self, graphs: Array, shard: Callable[[int], Dataset] | None = None) -> Dataset:
        """The graphs with the given numbers as one dataset.

        Args:
            graphs: Graph numbers, ascending, shape [n], n > 0.
            shard: Returns the shard with a given number. By default :meth:`shard`.
        """
        ends, take = np.searchsorted(graphs, self.first), shard or self.shard
        present = np.flatnonzero(np.diff(ends)).tolist()
        parts = [take(s).subset(graphs[ends[s] : ends[s + 1]] - self.first[s]) for s in present]
        return self.change(join(parts, self.dtypes), False)

    def each(self) -> Iterator[Dataset]:
        """The graphs of each shard."""
        return (self.change(join([self.shard(number)], self.dtypes), True) for number in range(len(self.shards)))

    def whole(self) -> Dataset:
        """All graphs as one dataset in memory."""
        return replace(join(list(self.each())), splits=self.splits, about=self.about)


def open_packed(path: Path) -> Dataset | Shards:
    """Open a packed file as a dataset, or a folder as shards, which stay on the disk."""
    return Shards.open(path) if path.is_dir() else Dataset.open(path)


def is_folder(path: Path) -> bool:
    """Whether a path is a folder of shards."""
    return (path / INDEX).is_file()


def join(parts: Sequence[Dataset], dtypes: Mapping[str, str] = MappingProxyType({})) -> Dataset:
    """Join datasets of the same kind into one, without splits.

    Args:
        parts: The datasets, at least one.
        dtypes: The dtype of each array. By default the one that holds all numbers.
    """
    columns = {name: [part.arrays()[name] for part in parts] for name in parts[0].arrays()}
    arrays: dict[str, Any] = {
        name: np.concatenate(of, axis=int(name == "edges"), dtype=dtypes.get(name), casting="unsafe")
        for name, of in columns.items()
    }
    return replace(parts[0], **arrays, splits={})


def shuffle_in_windows(order: Array, shard_first: Array, rng: np.random.Generator) -> Array:
    """Put graphs in random order into an order in which few shards have to be open at a time.

    The shards are put into random order and divided into windows of ``WINDOW`` shards. The graphs of a window come
    together, in the order in which they were given. With one window, the order stays as it is.

    Args:
        order: Graph numbers in random order.
        shard_first: Number of the first graph of each shard, and the number of all graphs, shape [S + 1].
        rng: Random numbers.
    """
    window = np.empty(len(shard_first) - 1, dtype=np.int32)
    window[rng.permutation(len(window))] = np.arange(len(window)) // WINDOW
    return order[np.argsort(window.repeat(np.diff(shard_first))[order], kind="stable")]


def _sizes(folder: Path, shard: Shard) -> dict[str, Array]:
    """The numbers of nodes and edges of each graph of a shard, and the targets."""
    arrays, _ = read_packed(_checked(folder, shard), only=SIZES)
    return arrays


def _checked(folder: Path, shard: Shard) -> Path:
    """The file of a shard. Raises an InputError if it is not the one that the index describes."""
    path = folder / shard.file
    _, crc = read_header(path)
    if f"{crc:08x}" != shard.checksum:
        raise InputError(f"{path} must be the file that {INDEX} describes, but its checksum is another; {REMEDY}")
    return path


def _read_parts(folder: Path, checksum: str | None, graphs: int) -> dict[str, Array]:
    if checksum is None:
        return {}
    arrays, _ = read_packed(folder / f"parts-{checksum}.pfgnn")
    return {name: check_numbers(f"the split {shown(name)}", numbers, graphs) for name, numbers in arrays.items()}


def _bytes(dataset: Dataset) -> int:
    return sum(array.nbytes for array in dataset.arrays().values())
