"""Read folders in the text format of the TU collection, and ALCHEMY-12K, which is defined on one of them.

The files are NAME_A.txt (edges), NAME_graph_indicator.txt (the graph of each node), NAME_node_labels.txt and so on.
Each line is one row with entries separated by commas. Nodes and graphs are numbered from 1.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, as_targets, guess_task
from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError, shown
from pfgnn.files import read_text, reading
from pfgnn.graphs.arrays import BoolArray, IntArray, rank_rows

Number = type[np.int64] | type[np.float64]

ALCHEMY = "alchemy_full"
ALCHEMY_PARTS = {"train": "train", "validation": "val", "test": "test"}


class Table(NamedTuple):
    """The numbers of one file.

    Attributes:
        path: The file.
        rows: One row per line, shape [lines, columns].
    """

    path: Path
    rows: Array

    def refuse(self, wrong: BoolArray, reason: str) -> None:
        """Raise an error for the first line that is ``wrong`` [lines]. Its entries fill the braces in the reason."""
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"{self.path.name}, line {row + 1}: {reason.format(*self.rows[row])}")

    def expect(self, lines: int, of: str) -> Array:
        """Return the rows. Raise an error unless there are ``lines`` rows, one for each ``of``, such as "node"."""
        if len(self.rows) != lines:
            raise InputError(f"{self.path} must have {lines} lines, one for each {of}, but it has {len(self.rows)}")
        return self.rows


def read_tu(folder: Path, attributes: bool = True) -> Dataset:
    """Read a folder in TU format.

    Labels of nodes and edges become categories 0, 1, ... in ascending order. Attributes are continuous features. If
    there are both, the columns of the attributes come first, and then the labels as one-hot columns. Graph labels
    become classes 0, 1, ... in ascending order. If there are graph attributes, they are used instead, as regression
    targets; nan is an unknown one. Self-loops and repeated edges are ignored.

    Args:
        folder: The folder with the files of one dataset.
        attributes: Whether to read attributes of nodes and edges.
    """
    name = _find_name(folder)
    with reading(folder / name, "be tables in TU format"):  # other errors name the table
        return _read_tables(folder, name, attributes)


def _read_tables(folder: Path, name: str, attributes: bool) -> Dataset:
    def find(kind: str, dtype: Number, unknown: bool = False) -> Table | None:
        path = folder / f"{name}_{kind}.txt"
        return read_table(path, dtype, unknown=unknown) if path.exists() else None

    indicator = read_table(folder / f"{name}_graph_indicator.txt", np.int64, 1)
    graph = indicator.rows[:, 0] - 1  # [N]
    step = np.diff(graph, prepend=0)
    wrong = (step < 0) | (step > 1)
    wrong[0] = graph[0] != 0
    indicator.refuse(wrong, "the graphs must ascend from 1 without gaps, but graph {} is out of turn")
    node_counts = np.bincount(graph)
    adjacency = read_table(folder / f"{name}_A.txt", np.int64, 2)
    edges, kept = _edges(adjacency, graph)

    def features(of: str, rows: int) -> tuple[Array | None, tuple[int, ...] | None]:
        labels, values = find(f"{of}_labels", np.int64), find(f"{of}_attributes", np.float64) if attributes else None
        return _features(labels and labels.expect(rows, of), values and values.expect(rows, of))

    x, node_categories = features("node", len(graph))
    edge_attr, edge_categories = features("edge", len(adjacency.rows))
    targets = find("graph_attributes", np.float64, unknown=True)
    if targets is None:
        targets = read_table(folder / f"{name}_graph_labels.txt", np.int64, 1)
    y = targets.expect(len(node_counts), "graph")
    y = as_targets(y if y.dtype.kind == "f" else rank_rows(y))
    first = np.cumsum(node_counts) - node_counts
    return Dataset.from_arrays(
        name,
        guess_task(y),
        node_counts=node_counts,
        edge_counts=np.bincount(graph[edges[0]], minlength=len(node_counts)),
        edges=edges - first[graph[edges]],
        x=x,
        edge_attr=None if edge_attr is None else edge_attr[kept],
        y=y,
        node_categories=node_categories,
        edge_categories=edge_categories,
    )


def alchemy(folder: Path, tables: Path | None = None) -> Dataset:
    """ALCHEMY-12K: 6 atom types, 4 bond types and 12 targets, standardised over all of alchemy_full as published.

    The index files list some graphs several times, within a part or in two parts. The dataset holds such a graph once,
    and the splits repeat its number as listed.

    Args:
        folder: The folder with the index files {train,val,test}_al_10.index.
        tables: The TU folder alchemy_full. By default the one in ``folder``.
    """
    whole = read_tu(tables or folder / ALCHEMY, attributes=False)
    listed = {part: _read_index(folder / f"{name}_al_10.index", len(whole)) for part, name in ALCHEMY_PARTS.items()}
    y = (whole.y - whole.y.mean(axis=0)) / whole.y.std(axis=0, ddof=1)
    used = np.unique(np.concatenate(list(listed.values())))
    return replace(
        replace(whole, y=y).subset(used),
        name="alchemy",
        task=Task("graph", y.shape[1], "l1", "mae"),
        splits={part: np.searchsorted(used, graphs) for part, graphs in listed.items()},
    )


def read_table(path: Path, dtype: Number, columns: int | None = None, unknown: bool = False) -> Table:
    """Read a file of comma-separated finite numbers.

    Args:
        path: The file.
        dtype: Type of the numbers, np.int64 or np.float64.
        columns: Number of entries that each line must have. By default that of the first line.
        unknown: Whether entries may be nan too.
    """
    lines = read_text(path).rstrip().splitlines()
    if not lines:
        raise InputError(f"{path} must have at least one line, but it is empty")
    width = columns or lines[0].count(",") + 1
    try:
        rows = np.loadtxt(lines, dtype, comments=None, delimiter=",", ndmin=2)
    except (ValueError, OverflowError):
        rows = np.empty((0, 0))
    good = np.isfinite(rows) | (np.isnan(rows) & unknown)
    if rows.shape != (len(lines), width) or not good.all():
        raise InputError(f"{path.name}, {_first_mistake(lines, dtype, width, unknown)}")
    return Table(path, rows)


def _first_mistake(lines: list[str], dtype: Number, width: int, unknown: bool) -> str:
    kind = "an integer" if dtype is np.int64 else "a finite number"
    for number, line in enumerate(lines, start=1):
        entries = line.split(",")
        if len(entries) != width:
            return f"line {number}: there must be {width} entries, but there are {len(entries)}"
        for entry in entries:
            try:
                good = np.isfinite(dtype(entry)) or (unknown and np.isnan(dtype(entry)))
            except (ValueError, OverflowError):
                good = False
            if not good:
                return f"line {number}: {shown(entry.strip())} is not {kind}"
    return f"some entry is not {kind}"


def _find_name(folder: Path) -> str:
    names = sorted(path.name.removesuffix("_A.txt") for path in folder.iterdir() if path.name.endswith("_A.txt"))
    if len(names) != 1:
        raise InputError(f"{folder} must have one file named NAME_A.txt, but it has {len(names)}")
    return names[0]


def _edges(adjacency: Table, graph: IntArray) -> tuple[IntArray, IntArray]:
    """The edges between nodes 0..N-1 without self-loops and repetitions, shape [2, E], and their lines, shape [E]."""
    nodes = len(graph)
    source, target = adjacency.rows.T - 1
    outside = (adjacency.rows.min(axis=1) < 1) | (adjacency.rows.max(axis=1) > nodes)
    adjacency.refuse(outside, f"edge {{}}, {{}} is not between nodes 1..{nodes}")
    adjacency.refuse(graph[source] != graph[target], "edge {}, {} joins two graphs")
    reverse: IntArray = target * nodes + source
    distinct, line = np.unique(source * nodes + target, return_index=True)
    alone = reverse != np.take(distinct, np.searchsorted(distinct, reverse), mode="clip")
    adjacency.refuse(alone, "both directions must be listed, but edge {}, {} has no reverse")
    kept = line[source[line] != target[line]]
    return np.stack([source[kept], target[kept]]), kept


def _features(labels: Array | None, values: Array | None) -> tuple[Array | None, tuple[int, ...] | None]:
    """The columns of features, and their category counts, which are None if the columns are continuous."""
    if labels is None:
        return values, None
    ranks = np.stack([rank_rows(column[:, None]) for column in labels.T], axis=1)
    categories = tuple((ranks.max(axis=0) + 1).tolist())
    if values is None:
        return ranks, categories
    one_hot = [np.eye(count)[column] for column, count in zip(ranks.T, categories, strict=True)]
    return np.concatenate([values, *one_hot], axis=1), None


def _read_index(path: Path, count: int) -> IntArray:
    """The graph numbers in a file, all in 0..count-1, in the order of the file, shape [entries]."""
    numbers = read_table(path, np.int64).rows.reshape(-1)
    wrong = (numbers < 0) | (numbers >= count)
    if wrong.any():
        raise InputError(f"{path} must have graph numbers in 0..{count - 1}, but it has {numbers[wrong.argmax()]}")
    return numbers
