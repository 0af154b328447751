"""Read the user's own graphs line by line: tables of SMILES, graph6 with labels, JSON lines."""

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, shrink
from pfgnn.data.molecules import CHUNK, FEATURES, FeatureSet, Molecule, featurise_many
from pfgnn.errors import InputError
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import GRAPH6_HEADER, SPARSE6_HEADER, from_graph6, from_sparse6


class Sample(NamedTuple):
    """One graph with its targets."""

    nodes: int
    edges: Array  # both directions, [2, e]
    x: Array | None  # [nodes, F]
    edge_attr: Array | None  # [e, Fe]
    y: list[float]
    smiles: str = ""


class Source(NamedTuple):
    """The lines of a file, and the function that turns each line into a sample.

    Attributes:
        lines: Numbers of the lines, from 1.
        items: Content of each line.
        read: Turns the content of a line into a sample. Raises a ValueError or TypeError for a wrong line.
        targets: Names of the targets, if the file has them.
        features: The features of the molecules, if the graphs are molecules.
    """

    lines: list[int]
    items: Generator[Any, None, None]
    read: Callable[[Any], Sample]
    targets: tuple[str, ...] = ()
    features: FeatureSet | None = None


def read_csv(file: Path, smiles_column: str, targets: Sequence[str] | None, features: str, processes: int) -> Source:
    """Read a CSV file with a column of SMILES and columns of targets. See :func:`pfgnn.data.convert.convert`."""
    reader = csv.reader(io.StringIO(_read_text(file), newline=""))
    try:
        header = [name.strip() for name in next(reader, [])]
        numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{file.name}, line {reader.line_num}: {error}") from None
    names = [name for name in header if name != smiles_column] if targets is None else list(targets)
    for name in (smiles_column, *names):
        if header.count(name) > 1 or names.count(name) > 1:
            raise InputError(f"each column must occur once in {file} and once in targets, but {name!r} is repeated")
        if name not in header:
            raise InputError(f"{file} has no column {name!r}, but has: {', '.join(header) or 'none'}")
    if not names:
        raise InputError(f"{file} must have at least one target besides column {smiles_column!r}, but it has none")
    place = {name: header.index(name) for name in header}
    rows = [row for _, row in numbered]

    def items() -> Generator[tuple[list[str], Molecule | ValueError], None, None]:
        smiles = ["".join(row[place[smiles_column] :][:1]) for row in rows]
        workers = processes if len(smiles) > CHUNK else 1
        yield from zip(rows, featurise_many(smiles, features, workers), strict=True)

    def read(item: tuple[list[str], Molecule | ValueError]) -> Sample:
        row, molecule = item
        if len(row) != len(header):
            raise InputError(f"there are {len(row)} entries, but the header has {len(header)}")
        y = [_number(row[place[name]], f"column {name!r}") for name in names]
        if isinstance(molecule, ValueError):
            raise molecule
        x, edges, edge_attr = map(shrink, molecule)
        return Sample(len(x), edges, x, edge_attr, y, row[place[smiles_column]])

    return Source([line for line, _ in numbered], items(), read, tuple(names), FEATURES[features])


def read_graph6_lines(file: Path, labels: str | Path | None) -> Source:
    """Read a file with one graph6 or sparse6 string per line, and a file of labels with one line for each graph."""
    if labels is None:
        raise InputError(f"{file} has no targets of its own, so labels must name a file with a line for each graph")
    lines = enumerate(_read_text(file).splitlines(), start=1)
    bodies = {number: line.strip().removeprefix(GRAPH6_HEADER).removeprefix(SPARSE6_HEADER) for number, line in lines}
    graphs = {number: body for number, body in bodies.items() if body}
    targets = _read_text(Path(labels)).rstrip().splitlines()
    if len(targets) != len(graphs):
        raise InputError(f"{labels} must have {len(graphs)} lines, one for each graph, but it has {len(targets)}")

    def read(item: tuple[str, str]) -> Sample:
        body, target = item
        graph = from_sparse6(body) if body.startswith(":") else from_graph6(body)
        return _sample(graph, [_number(entry, "its label") for entry in target.split(",")])

    return Source(list(graphs), (pair for pair in zip(graphs.values(), targets, strict=True)), read)


def read_json_lines(file: Path) -> Source:
    """Read a file with one JSON object per line."""
    lines = {number: line for number, line in enumerate(_read_text(file).splitlines(), start=1) if line.strip()}
    return Source(list(lines), (line for line in lines.values()), _json_sample)


def _json_sample(line: str) -> Sample:
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON: {error.msg} at character {error.pos + 1}") from None
    keys = set(content) if isinstance(content, dict) else set()
    if not {"num_nodes", "edges", "y"} <= keys <= {"num_nodes", "edges", "y", "x", "edge_attr"}:
        found = ", ".join(sorted(keys)) or "none"
        raise InputError(f"the keys must be num_nodes, edges, y and, if wanted, x and edge_attr, but are: {found}")
    edges = _rows("edges", content["edges"])
    x, edge_attr = (None if content.get(name) is None else _rows(name, content[name]) for name in ("x", "edge_attr"))
    y = content["y"] if isinstance(content["y"], list) else [content["y"]]
    y = [math.nan if value is None else value for value in y]
    if not y or not all(type(value) in (int, float) and not math.isinf(value) for value in y):
        raise InputError(f"y must be a finite number, null if unknown, or a list of them, but it is {content['y']}")
    return _sample(Graph(content["num_nodes"], edges, x, edge_attr), y)


def _rows(name: str, value: object) -> Array:
    try:
        return np.array(value) if value != [] else np.zeros((0, 2), dtype=np.int64)
    except ValueError:
        raise InputError(f"{name} must have the same number of columns in all rows, but their lengths differ") from None


def _sample(graph: Graph, y: list[float]) -> Sample:
    edges, edge_attr = graph.directed()
    return Sample(graph.num_nodes, shrink(edges), graph.x, edge_attr if graph.num_edges else None, y)


def _number(text: str, what: str) -> float:
    """A target as a number. An empty text or "nan" is NaN, an unknown target."""
    try:
        value = float(text or "nan")
    except ValueError:
        value = math.inf
    if math.isinf(value):
        raise InputError(f"{what} must be a finite number, or empty or nan if unknown, but it is {text!r}")
    return value


def _read_text(file: Path) -> str:
    content = file.read_bytes()
    try:
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as {'gzipped ' * (file.suffix == '.gz')}UTF-8 text: {error}") from None
    if not text.strip():
        raise InputError(f"{file} must have at least one line, but it is empty")
    return text
