"""Read the user's own graphs line by line: tables of SMILES, graph6 with labels, JSON lines."""

import json
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, shrink
from pfgnn.data.labels import Labels, choose_target
from pfgnn.data.molecules import CHUNK, FEATURES, FeatureSet, Molecule, featurise_many
from pfgnn.data.table_file import list_columns, read_table_file
from pfgnn.errors import InputError, shown
from pfgnn.files import read_text
from pfgnn.graphs.checks import check_claimed_nodes, check_num_nodes
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import from_line, graph6_lines
from pfgnn.graphs.smiles import smiles_lines


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
        classes: If the targets are texts, these texts. A target is the number of its text.
        about: What was chosen, and why.
    """

    lines: list[int]
    items: Generator[Any, None, None]
    read: Callable[[Any], Sample]
    targets: tuple[str, ...] = ()
    features: FeatureSet | None = None
    classes: tuple[str, ...] = ()
    about: Mapping[str, str] = MappingProxyType({})


def read_csv(
    file: Path, smiles_column: str, targets: Sequence[str] | None, features: str, processes: int, classes: bool
) -> Source:
    """Read a table with a column of SMILES and columns of targets. See :func:`pfgnn.data.convert.convert`."""
    table = read_table_file(file)
    smiles = table.place(smiles_column)
    if targets is None:
        chosen, why = choose_target(table, smiles_column)
        names = [chosen]
    else:
        names, why = list(targets), f"{list_columns(targets)}, as you chose"
    if not names:
        raise InputError(f"targets must name at least one column of {file}, but it names none")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"each column must occur once in targets, but {shown(name)} is repeated")
    places = [table.place(name, "--target") for name in names]
    whole = [[row[place] for place in places] for row in table.rows if len(row) == len(table.header)]
    labels = Labels([f"column {shown(name)}" for name in names], whole, file, classes)
    molecules = _molecules(["".join(row[smiles : smiles + 1]) for row in table.rows], features, processes)

    def read(item: tuple[list[str], Molecule | ValueError]) -> Sample:
        row, molecule = item
        table.check_row(row)
        return _molecule_sample(molecule, labels.read([row[place] for place in places]), row[smiles])

    items = (pair for pair in zip(table.rows, molecules, strict=True))
    return Source(table.lines, items, read, tuple(names), FEATURES[features], labels.classes, {"target column": why})


def read_smiles_with_labels(
    file: Path, labels: str | Path | None, features: str, processes: int, classes: bool
) -> Source:
    """Read a file of SMILES, and a file of labels with one line for each molecule."""
    found = list(smiles_lines(file))
    cells, read_labels = _read_labels(file, labels, len(found), "molecule", classes)
    molecules = _molecules([smiles for _, smiles, _ in found], features, processes)

    def read(item: tuple[str, list[str], Molecule | ValueError]) -> Sample:
        smiles, row, molecule = item
        return _molecule_sample(molecule, read_labels.read(row), smiles)

    items = (three for three in zip([smiles for _, smiles, _ in found], cells, molecules, strict=True))
    lines = [line for line, *_ in found]
    return Source(lines, items, read, features=FEATURES[features], classes=read_labels.classes)


def read_graph6_lines(file: Path, labels: str | Path | None, classes: bool) -> Source:
    """Read a file with one graph6 or sparse6 string per line, and a file of labels with one line for each graph."""
    graphs = dict(graph6_lines(file))
    cells, read_labels = _read_labels(file, labels, len(graphs), "graph", classes)

    def read(item: tuple[str, list[str]]) -> Sample:
        body, row = item
        return _sample(from_line(body), read_labels.read(row))

    items = (pair for pair in zip(graphs.values(), cells, strict=True))
    return Source(list(graphs), items, read, classes=read_labels.classes)


def _read_labels(
    file: Path, labels: str | Path | None, count: int, of: str, classes: bool
) -> tuple[list[list[str]], Labels]:
    """The cells of each line of a file of labels, and how they become numbers.

    Args:
        file: The file of the graphs.
        labels: The file of the labels; None raises an InputError.
        count: Number of graphs.
        of: What a graph is called in messages.
        classes: See :class:`Labels`.
    """
    if labels is None:
        raise InputError(
            f"{file} has no targets of its own, so labels must name a file with a line for each {of} (--labels FILE)"
        )
    path = Path(labels)
    lines = read_text(path).rstrip().splitlines()
    if len(lines) != count:
        raise InputError(f"{labels} must have {count} lines, one for each {of} of {file}, but it has {len(lines)}")
    cells = [[cell.strip() for cell in line.split(",")] for line in lines]
    columns = len(cells[0]) if cells else 0
    names = [f"label {number} in {path.name}" for number in range(1, columns + 1)]
    return cells, Labels([f"its label in {path.name}"] if columns == 1 else names, cells, path, classes)


def read_json_lines(file: Path) -> Source:
    """Read a file with one JSON object per line."""
    lines = {number: line for number, line in enumerate(read_text(file).splitlines(), start=1) if line.strip()}
    return Source(list(lines), (line for line in lines.values()), _json_sample)


def _json_sample(line: str) -> Sample:
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise InputError("a graph must be an object of JSON, but this is nested too deeply") from None
    if not isinstance(content, dict):
        raise InputError(f"a graph must be an object of JSON, but this is {shown(content)}")
    if not {"num_nodes", "edges", "y"} <= content.keys() <= {"num_nodes", "edges", "y", "x", "edge_attr"}:
        found = list_columns(sorted(content))
        raise InputError(f"the keys must be num_nodes, edges, y and, if wanted, x and edge_attr, but are: {found}")
    check_claimed_nodes(check_num_nodes(content["num_nodes"]), len(line))
    edges = _rows("edges", content["edges"])
    x, edge_attr = (None if content.get(name) is None else _rows(name, content[name]) for name in ("x", "edge_attr"))
    given = content["y"] if isinstance(content["y"], list) else [content["y"]]
    if not given or not all(type(value) in (int, float, type(None)) for value in given):
        raise InputError(f"y must be a number, null or a list of them, but it is {shown(content['y'])}")
    y = [math.nan if value is None else float(value) for value in given]
    if any(value is not None and not math.isfinite(value) for value in given):
        raise InputError(f"y must be finite, or null if it is unknown, but it is {shown(content['y'])}")
    return _sample(Graph(content["num_nodes"], edges, x, edge_attr), y)


def _rows(name: str, value: object) -> Array:
    try:
        return np.array(value) if value != [] else np.zeros((0, 2), dtype=np.int64)
    except ValueError:
        raise InputError(f"{name} must have the same number of columns in all rows, but their lengths differ") from None


def _sample(graph: Graph, y: list[float]) -> Sample:
    edges, edge_attr = graph.directed()
    return Sample(graph.num_nodes, shrink(edges), graph.x, edge_attr if graph.num_edges else None, y)


def _molecule_sample(molecule: Molecule | ValueError, y: list[float], smiles: str) -> Sample:
    if isinstance(molecule, ValueError):
        raise molecule
    x, edges, edge_attr = map(shrink, molecule)
    return Sample(len(x), edges, x, edge_attr, y, smiles)


def _molecules(smiles: list[str], features: str, processes: int) -> Iterator[Molecule | ValueError]:
    return featurise_many(smiles, features, processes if len(smiles) > CHUNK else 1)
