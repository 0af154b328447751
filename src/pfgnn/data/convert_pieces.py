"""Turn the lines of a file into graphs, piece by piece, in several processes."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.arrays import join_edges, shrink
from pfgnn.data.dataset import Dataset
from pfgnn.data.graph_files import Sample, Source
from pfgnn.data.shards import join
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.graphs.arrays import stack
from pfgnn.workers import ordered_map

SHOWN, LONGEST_LIST = 20, 800  # rejected lines in a message, and their characters
LINES, CHARACTERS = 1024, 2**20  # the most that a process gets at a time, but at least one line

Columns = dict[str, int]


class Reject(NamedTuple):
    """A line that could not be read.

    Attributes:
        line: Number of the line, from 1.
        reason: What is wrong with it.
    """

    line: int
    reason: str


def say_rejects(file: str, rejects: Sequence[Reject], among: tuple[int, int] | None = None) -> str:
    """The message about lines that cannot be read: the first 20 of them as far as there is room, and how to go on.

    Args:
        file: Name of the file.
        rejects: The lines, at least one.
        among: First and last line that were read; None for the whole file.
    """
    hint = "--on-error skip leaves out such lines"
    if len(rejects) == 1:
        return f"{file}, line {rejects[0].line}: {rejects[0].reason}; {hint}"
    said: list[str] = []
    for reject in rejects[:SHOWN]:
        one = f"line {reject.line}: {reject.reason}"
        if sum(map(len, said)) + len(one) > LONGEST_LIST and said:
            break
        said.append(one)
    more = f"; and {len(rejects) - len(said)} more" if len(rejects) > len(said) else ""
    which = "lines" if among is None else f"of the lines {among[0]} to {among[1]}"
    return f"{file}: {len(rejects)} {which} cannot be read ({hint}): {'; '.join(said)}{more}"


class Piece(NamedTuple):
    """What some lines of a file hold.

    Attributes:
        lines: Number of the lines.
        dataset: The graphs, with their labels as targets; None if all lines were rejected.
        rejects: The lines that could not be read.
        smiles: SMILES of each graph; empty if the graphs are no molecules.
        read: Number of the line of each graph, from 1.
        columns: Number of columns of x, y and edge_attr, as far as they are known up to here.
    """

    lines: int
    dataset: Dataset | None
    rejects: list[Reject]
    smiles: list[str]
    read: list[int]
    columns: Columns


class _OtherColumnsError(InputError):
    """A graph has other numbers of columns than the graphs before it."""


def read_pieces(
    source: Source, processes: int, skip: int = 0, columns: Columns | None = None
) -> Generator[Piece, None, None]:
    """Read a file piece by piece, in order. Only a few pieces are in memory at a time.

    A graph is rejected if it has other numbers of columns than the graphs before it.

    Args:
        source: The file.
        processes: Number of processes.
        skip: Number of lines with content to skip. They must be whole pieces.
        columns: The numbers of columns of the graphs in the skipped lines.
    """
    known = dict(columns or {})
    waiting: deque[list[tuple[int, Any]]] = deque()

    def pieces() -> Iterator[list[tuple[int, Any]]]:
        piece: list[tuple[int, Any]] = []
        size = 0
        for line, content in islice(source.items(), skip, None):
            piece.append((line, content))
            size += _characters(content)
            if len(piece) == LINES or size >= CHARACTERS:
                waiting.append(piece)
                yield piece
                piece, size = [], 0
        if piece:
            waiting.append(piece)
            yield piece

    with closing(ordered_map(partial(_read_apart, source.read), pieces(), processes)) as found:
        for piece in found:
            items = waiting.popleft()
            # Another process does not know the graphs before the piece. What depends on them is read here.
            if piece is None or any(known.get(name, width) != width for name, width in piece.columns.items()):
                piece = _read(source.read, items, known)
            known |= piece.columns
            yield piece._replace(columns=dict(known))


def merge(pieces: Sequence[Dataset], columns: Columns, first: int = 0) -> Dataset:
    """Join the graphs of pieces.

    Args:
        pieces: The graphs, at least one. A piece whose graphs have no edges may lack edge features.
        columns: The numbers of columns of all graphs.
        first: Key of the first graph. The others follow.
    """
    nothing = np.zeros((0, columns.get("edge_attr", 0)), dtype=np.uint8)
    lacks = nothing.shape[1] > 0
    whole = join([replace(of, edge_attr=nothing) if lacks and of.edge_attr is None else of for of in pieces])
    arrays: dict[str, Any] = {name: shrink(array) for name, array in whole.arrays().items()}
    return replace(whole, **arrays | {"key": np.arange(first, first + len(whole))})


def _characters(content: Any) -> int:
    """Number of characters of the content of a line: a text, or a sequence of contents."""
    return len(content) if isinstance(content, str) else sum(map(_characters, content))


def _read_apart(read: Callable[[Any], Sample], items: Sequence[tuple[int, Any]]) -> Piece | None:
    """Read a piece without knowing the graphs before it. None if its graphs have different numbers of columns."""
    try:
        return _read(read, items)
    except _OtherColumnsError:
        return None


def _read(read: Callable[[Any], Sample], items: Sequence[tuple[int, Any]], known: Columns | None = None) -> Piece:
    """Read a piece.

    Args:
        read: Turns the content of a line into a sample.
        items: The lines.
        known: The numbers of columns of the graphs before the piece. A graph with others is rejected. If None, it
            raises an _OtherColumnsError.
    """
    samples: list[Sample] = []
    lines: list[int] = []
    rejects: list[Reject] = []
    columns = dict(known or {})
    for line, item in items:
        try:
            sample = read(item)
            _check_columns(sample, columns)
            samples.append(sample)
            lines.append(line)
        except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
            if known is None and isinstance(error, _OtherColumnsError):
                raise
            rejects.append(Reject(line, str(error) or type(error).__name__))
    dataset = _pack(samples) if samples else None
    smiles = [sample.smiles for sample in samples if sample.smiles]
    return Piece(len(items), dataset, rejects, smiles, lines, columns)


def _check_columns(sample: Sample, columns: Columns) -> None:
    """Raise an error if a sample has other numbers of columns than the samples before it; update ``columns``."""
    widths = {"x": 0 if sample.x is None else sample.x.shape[1], "y": len(sample.y)}
    if sample.edges.size:  # a graph without edges does not show the columns of edge_attr
        widths["edge_attr"] = 0 if sample.edge_attr is None else sample.edge_attr.shape[1]
    for name, width in widths.items():
        if columns.get(name, width) != width:
            message = f"{name} must have {columns[name]} columns like the graphs before, but it has {width}"
            raise _OtherColumnsError(message)
    columns.update(widths)


def _pack(samples: Sequence[Sample]) -> Dataset:
    joined = [sample for sample in samples if sample.edges.size]
    y = np.array([sample.y for sample in samples], dtype=np.float64)
    return Dataset.from_arrays(
        "piece",
        Task("graph", y.shape[1], "l1", "mae"),
        node_counts=np.array([sample.nodes for sample in samples]),
        edge_counts=np.array([sample.edges.shape[1] for sample in samples]),
        edges=join_edges([sample.edges for sample in samples]),
        x=stack("x", [sample.x for sample in samples]),
        edge_attr=stack("edge_attr", [sample.edge_attr for sample in joined or samples]),
        y=y,
    )
