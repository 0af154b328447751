"""New graphs for a finished run, read from a file piece by piece. It needs no torch, for it runs in small processes."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pfgnn.data.convert import Reject
from pfgnn.data.convert_pieces import say_rejects
from pfgnn.data.dataset import Dataset
from pfgnn.data.graph_files import json_lines, read_json_graph
from pfgnn.data.molecules import FEATURES, Molecule, pack_molecules
from pfgnn.data.shards import Shards, open_packed
from pfgnn.data.smiles_column import choose_smiles
from pfgnn.data.table_file import SMILES, TABLES, Table, open_table
from pfgnn.errors import InputError, shown
from pfgnn.experiments.given_graphs import categories_of
from pfgnn.experiments.needs import Needs
from pfgnn.files import ending
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import from_line, graph6_lines

GRAPH6, JSON = (".g6", ".s6"), (".jsonl",)
PIECE = 1024  # graphs that a process makes at a time, or a few more, so that a piece has whole batches
MOST_TEXT = 2**22  # characters after which a piece ends with the next batch

Item = TypeVar("Item")
Made = TypeVar("Made")


class NewGraphs(NamedTuple):
    """Graphs for a model, made from a piece of a file.

    Fields:
        first: Number of the first graph in the file, from 0.
        total: Number of graphs of the piece.
        read: Numbers of the graphs that could be read, counted from the first.
        dataset: These graphs. None if there are none.
        rows: The cells of each row of a table; empty for other files.
        rejects: The lines that could not be read.
        outside: For each graph of the dataset, why it is unlike the training graphs; None if these are not known.
    """

    first: int
    total: int
    read: IntArray
    dataset: Dataset | None
    rows: Sequence[Sequence[str]] = ()
    rejects: Sequence[Reject] = ()
    outside: Sequence[str] | None = None


class Piece(NamedTuple):
    """Some consecutive rows of a file.

    Fields:
        first: Number of the first row, from 0.
        lines: Number of the line of each row, from 1.
        rows: The cells of each row.
    """

    first: int
    lines: list[int]
    rows: list[list[str]]


class Source(NamedTuple):
    """The graphs of a file.

    Fields:
        total: Number of graphs.
        columns: Names of the columns of a table; empty for other files.
        pieces: Reads the file in pieces, given the number of graphs in a batch.
        make: Makes graphs from a piece. It can be sent to another process.
        costly: Whether this takes so long that other processes help.
    """

    total: int
    columns: Sequence[str]
    pieces: Callable[[int], Iterator[Any]]
    make: Callable[[Any], NewGraphs]
    costly: bool


def open_source(path: Path, needs: Needs, smiles_column: str | None = None, fail: bool = True) -> Source:
    """Look through a file of graphs: count them, and check what can be checked without making them.

    Args:
        path: File of the graphs: graph6 or sparse6 (.g6, .s6), JSON lines (.jsonl), a table with SMILES (.csv, .tsv),
            SMILES (.smi), or a packed dataset (.pfgnn) or a folder of shards. Text files may be gzipped.
        needs: What the graphs must be.
        smiles_column: Name of the column of SMILES in a CSV file; None for the column that looks like it.
        fail: Whether a line that cannot be read is an error. Otherwise it is rejected.
    """
    if path.suffix == ".pfgnn" or path.is_dir():
        return _packed(path, needs)
    if needs.molecules is not None and ending(path) in GRAPH6:
        raise InputError(f"this model takes molecules (SMILES), but {path} holds graph6")
    if ending(path) in GRAPH6:
        rows: Callable[[], Iterator[tuple[int, list[str]]]] = partial(_line_rows, graph6_lines, path)
        make = partial(_make_graphs, path, needs, fail, from_line)
        count, what = sum(1 for _ in rows()), "graph"
        columns: list[str] = []
    elif ending(path) in JSON:
        rows = partial(_line_rows, json_lines, path)
        make = partial(_make_graphs, path, needs, fail, _json_graph)
        count, what, columns = sum(1 for _ in rows()), "graph", []
    elif ending(path) in (*TABLES, *SMILES):
        table = open_table(path)
        rows, columns = table.read, table.header
        needs.check_molecules()
        make = partial(_make_molecules, table, table.place(choose_smiles(table, smiles_column)), needs, fail)
        count, what = _count(table, fail), "molecule"
    else:
        known = ", ".join((*GRAPH6, *JSON, *TABLES, *SMILES, ".pfgnn"))
        raise InputError(f"{path} must end in one of {known}, but it ends in {shown(path.suffix)}")
    if not count:
        raise InputError(f"{path} must hold one {what} per line, but it holds no {what}")
    return Source(count, columns, lambda batch: cut(rows(), batch), make, costly=True)


def cut(rows: Iterator[tuple[int, list[str]]], batch: int) -> Iterator[Piece]:
    """Cut the rows of a file into pieces of whole batches.

    Args:
        rows: Number of the line and cells of each row.
        batch: Number of graphs in a batch.
    """
    piece, text = Piece(0, [], []), 0
    for line, row in rows:
        piece.lines.append(line)
        piece.rows.append(row)
        text += sum(map(len, row))
        count = len(piece.lines)
        if count % batch == 0 and (count >= PIECE or text >= MOST_TEXT):
            yield piece
            piece, text = Piece(piece.first + count, [], []), 0
    if piece.lines:
        yield piece


def _count(table: Table, fail: bool) -> int:
    """Number of rows. With ``fail``, raise an InputError if some have other cells than the header."""
    count = 0
    rejects: list[Reject] = []
    for line, row in table.read():
        count += 1
        if fail and isinstance(found := _attempt(line, table.check_row, row), Reject):
            rejects.append(found)
    if rejects:
        raise InputError(say_rejects(str(table.path), rejects))
    return count


def _line_rows(read: Callable[[Path], Iterator[tuple[int, str]]], path: Path) -> Iterator[tuple[int, list[str]]]:
    return ((line, [body]) for line, body in read(path))


def _json_graph(line: str) -> Graph:
    return read_json_graph(line, labelled=False)[0]


def _make_graphs(path: Path, needs: Needs, fail: bool, read: Callable[[str], Graph], piece: Piece) -> NewGraphs:
    """Make graphs from lines of text, such as graph6. ``read`` makes a graph from a line."""

    def pack(graphs: list[Graph], numbers: IntArray) -> Dataset:
        y = needs.targets([graph.num_nodes for graph in graphs])
        whole = _with_edge_columns(graphs)
        return Dataset.from_graphs(whole, y, needs.task, key=numbers, **categories_of(whole, needs))

    return _make(path, needs, fail, piece._replace(rows=[]), [body for [body] in piece.rows], read, pack)


def _with_edge_columns(graphs: list[Graph]) -> list[Graph]:
    """The graphs. Those without edges get as many columns of edge features as the others have."""
    like = next((of.edge_attr for of in graphs if of.num_edges and of.edge_attr is not None), None)
    if like is None:
        return graphs
    return [of if of.num_edges else Graph(of.num_nodes, of.edges, of.x, like[:0]) for of in graphs]


def _make_molecules(table: Table, place: int, needs: Needs, fail: bool, piece: Piece) -> NewGraphs:
    """Make graphs from rows of a table with SMILES."""
    features = needs.check_molecules()

    def read(row: list[str]) -> Molecule:
        table.check_row(row)
        return FEATURES[features].featurise(row[place])

    def pack(molecules: list[Molecule], numbers: IntArray) -> Dataset:
        y = needs.targets([len(molecule.x) for molecule in molecules])
        return pack_molecules(molecules, y, features, needs.task, key=numbers)

    return _make(table.path, needs, fail, piece, piece.rows, read, pack)


def _make(
    path: Path,
    needs: Needs,
    fail: bool,
    piece: Piece,
    items: Sequence[Item],
    read: Callable[[Item], Made],
    pack: Callable[[list[Made], IntArray], Dataset],
) -> NewGraphs:
    """Read each item, and pack what could be read. The draws of a graph depend on its number in the file."""
    graphs: list[Made] = []
    numbers: list[int] = []
    rejects: list[Reject] = []
    for number, (line, item) in enumerate(zip(piece.lines, items, strict=True)):
        found = _attempt(line, read, item)
        if isinstance(found, Reject):
            rejects.append(found)
        else:
            graphs.append(found)
            numbers.append(number)
    if rejects and fail:  # of this piece alone: a large file shall not be read to its end before it fails
        raise InputError(say_rejects(str(path), rejects, (piece.lines[0], piece.lines[-1])))
    chosen = np.array(numbers, dtype=np.int64)
    if not graphs:
        return NewGraphs(piece.first, len(items), chosen, None, piece.rows, rejects)
    packed = pack(graphs, piece.first + chosen)
    return NewGraphs(
        piece.first, len(items), chosen, needs.fit(packed, str(path)), piece.rows, rejects, needs.outside(packed)
    )


def _attempt(line: int, read: Callable[[Item], Made], item: Item) -> Made | Reject:
    """Read what a line holds, or return a reject if it cannot be read."""
    try:
        return read(item)
    except (ValueError, MemoryError) as error:
        return Reject(line, str(error))


def _packed(path: Path, needs: Needs) -> Source:
    dataset = open_packed(path)
    level, found = ("node" if task.level == "node" else "graph" for task in (needs.task, dataset.task))
    if level != found:
        raise InputError(f"{path} must have a task at {level} level, as the run has, but it is at {found} level")

    take = partial(dataset.subset, shard=lru_cache(2)(dataset.shard)) if isinstance(dataset, Shards) else dataset.subset

    def pieces(batch: int) -> Iterator[tuple[int, Dataset]]:
        size = -(-PIECE // batch) * batch
        for first in range(0, len(dataset), size):
            yield first, take(np.arange(first, min(first + size, len(dataset))))

    return Source(len(dataset), [], pieces, partial(_make_packed, path, needs), costly=needs.encoded > 0)


def _make_packed(path: Path, needs: Needs, piece: tuple[int, Dataset]) -> NewGraphs:
    first, dataset = piece
    fitted, outside = needs.fit(dataset, str(path)), needs.outside(dataset)
    return NewGraphs(first, len(dataset), np.arange(len(dataset)), fitted, outside=outside)
