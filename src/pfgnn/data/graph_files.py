"""Read the user's own graphs line by line: tables of SMILES, graph6 with labels, JSON lines."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, shrink
from pfgnn.data.labels import Labels, choose_targets
from pfgnn.data.molecules import FEATURES, FeatureSet
from pfgnn.data.smiles_column import choose_smiles
from pfgnn.data.table_file import SMILES, Table, list_columns, open_table
from pfgnn.errors import InputError, counted, shown
from pfgnn.files import ending, text_lines
from pfgnn.graphs.checks import check_claimed_nodes, check_num_nodes
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import from_line, graph6_lines
from pfgnn.graphs.smiles import smiles_lines

Items = Iterator[tuple[int, Any]]


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
        total: Number of lines with content.
        items: Reads the file, from its first line: the number of each line, from 1, and its content.
        read: Turns the content of a line into a sample. Raises a ValueError or TypeError for a wrong line. It can be
            sent to other processes.
        targets: Names of the targets, if the file has them.
        features: The features of the molecules, if the graphs are molecules.
        classes: If the targets are texts, these texts. A target is the number of its text.
        about: What was chosen, and why.
        smiles: The SMILES in the content of a line, if the graphs are molecules.
    """

    total: int
    items: Callable[[], Items]
    read: Callable[[Any], Sample]
    targets: tuple[str, ...] = ()
    features: FeatureSet | None = None
    classes: tuple[str, ...] = ()
    about: Mapping[str, str] = MappingProxyType({})
    smiles: Callable[[Any], str] | None = None


def read_csv(
    file: Path,
    smiles_column: str | None,
    targets: Sequence[str] | None,
    features: str,
    classes: bool,
    split_column: str | None = None,
) -> Source:
    """Read a table with a column of SMILES and columns of targets. See :func:`pfgnn.data.convert.convert`."""
    table = open_table(file)
    smiles_column = choose_smiles(table, smiles_column)
    smiles = table.place(smiles_column)
    if ending(file) not in SMILES and next(table.read(), None) is None:
        raise InputError(f"{file} must have at least one row below its header, but it has none")
    other = {smiles_column: "of the SMILES"}
    if split_column is not None:
        table.place(split_column, "--split-column")  # raises if it is not there
        if split_column == smiles_column:
            raise InputError(f"--split-column must be another column than that of the SMILES, {shown(smiles_column)}")
        other[split_column] = "of the parts"
    if targets is None:
        names, why = choose_targets(table, list(other))
    else:
        names, why = list(targets), f"{list_columns(targets)}, as you chose"
    if not names:
        raise InputError(f"targets must name at least one column of {file}, but it names none")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"each column must occur once in targets, but {shown(name)} is repeated")
        if name in other:
            raise InputError(f"--target must be another column than that {other[name]}, but both are {shown(name)}")
    places = [table.place(name, "--target") for name in names]
    total = 0

    def whole_rows() -> Iterator[list[str]]:
        nonlocal total
        for _, row in table.read():
            total += 1
            if len(row) == len(table.header):
                yield [row[place] for place in places]

    labels = Labels([f"column {shown(name)}" for name in names], whole_rows(), file, classes)
    read = _Row(table, smiles, places, labels, features)
    about = {"SMILES column": smiles_column, "target column": why}
    if labels.comma:
        about["decimal commas"] = f"{labels.comma} is read as {labels.comma.replace(',', '.')}"
    return Source(total, table.read, read, tuple(names), FEATURES[features], labels.classes, about, itemgetter(smiles))


@dataclass(frozen=True)
class _Row:
    """Reads a row of a table."""

    table: Table
    smiles: int
    places: list[int]
    labels: Labels
    features: str

    def __call__(self, row: list[str]) -> Sample:
        self.table.check_row(row)
        return _molecule(row[self.smiles], self.labels.read([row[place] for place in self.places]), self.features)


def read_smiles_with_labels(file: Path, labels: str | Path | None, features: str, classes: bool) -> Source:
    """Read a file of SMILES, and a file of labels with one line for each molecule."""
    total, items, numbers = _read_labels(file, labels, partial(_smiles, file), "molecule", classes)
    read = partial(_read_smiles, numbers, features)
    return Source(total, items, read, features=FEATURES[features], classes=numbers.classes, smiles=itemgetter(0))


def _smiles(file: Path) -> Items:
    return ((line, smiles) for line, smiles, _ in smiles_lines(file))


def _read_smiles(labels: Labels, features: str, item: tuple[str, list[str]]) -> Sample:
    smiles, cells = item
    return _molecule(smiles, labels.read(cells), features)


def read_graph6_lines(file: Path, labels: str | Path | None, classes: bool) -> Source:
    """Read a file with one graph6 or sparse6 string per line, and a file of labels with one line for each graph."""
    total, items, numbers = _read_labels(file, labels, partial(graph6_lines, file), "graph", classes)
    return Source(total, items, partial(_read_graph6, numbers), classes=numbers.classes)


def _read_graph6(labels: Labels, item: tuple[str, list[str]]) -> Sample:
    body, cells = item
    return _sample(from_line(body), labels.read(cells))


def _read_labels(
    file: Path, labels: str | Path | None, lines: Callable[[], Items], of: str, classes: bool
) -> tuple[int, Callable[[], Items], Labels]:
    """The number of graphs, their lines with the cells of their labels, and how these become numbers.

    Args:
        file: The file of the graphs.
        labels: The file of the labels; None raises an InputError.
        lines: Reads the lines of the graphs.
        of: What a graph is called in messages.
        classes: See :class:`Labels`.
    """
    if labels is None:
        raise InputError(
            f"{file} has no targets of its own, so labels must name a file with a line for each {of} (--labels FILE)"
        )
    path = Path(labels)
    total, count = sum(1 for _ in lines()), sum(1 for _ in _label_cells(path))
    if count != total:
        raise InputError(
            f"{labels} must have {counted(total, 'line')}, one for each {of} of {file}, but it has {count}"
        )
    columns = len(next(_label_cells(path), ()))
    names = [f"label {number} in {path.name}" for number in range(1, columns + 1)]
    numbers = Labels([f"its label in {path.name}"] if columns == 1 else names, _label_cells(path), path, classes)
    return total, partial(_beside, lines, path), numbers


def _label_cells(path: Path) -> Iterator[list[str]]:
    """The cells of each line of a file of labels. Blank lines at its end are left out."""
    blank = 0
    for line in text_lines(path):
        if line.strip():
            yield from ([""] for _ in range(blank))
            yield [cell.strip() for cell in line.split(",")]
        blank = 0 if line.strip() else blank + 1


def _beside(lines: Callable[[], Items], labels: Path) -> Items:
    """The number of each line, and its content with the cells of its label."""
    for (number, body), cells in zip(lines(), _label_cells(labels), strict=True):
        yield number, (body, cells)


def read_json_lines(file: Path) -> Source:
    """Read a file with one JSON object per line."""
    lines = partial(json_lines, file)
    return Source(sum(1 for _ in lines()), lines, _json_sample)


def json_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The number and the content of each line that is not blank."""
    return ((number, line.rstrip("\r\n")) for number, line in enumerate(text_lines(file), start=1) if line.strip())


def _json_sample(line: str) -> Sample:
    graph, y = read_json_graph(line)
    return _sample(graph, y)


def read_json_graph(line: str, labelled: bool = True) -> tuple[Graph, list[float]]:
    """The graph of a JSON line, and its targets.

    Args:
        line: See :class:`pfgnn.data.conversion.Conversion`.
        labelled: Whether the line must have targets. If not, its y is not read.
    """
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise InputError("a graph must be an object of JSON, but this is nested too deeply") from None
    if not isinstance(content, dict):
        raise InputError(f"a graph must be an object of JSON, but this is {shown(content)}")
    needed = {"num_nodes", "edges", *(["y"] if labelled else [])}
    if not needed <= content.keys() <= {"num_nodes", "edges", "y", "x", "edge_attr"}:
        found = list_columns(sorted(content))
        keys = "num_nodes, edges, y and, if wanted, x and edge_attr"
        keys = keys if labelled else "num_nodes, edges and, if wanted, x, edge_attr and y"
        raise InputError(f"the keys must be {keys}, but are: {found}")
    check_claimed_nodes(check_num_nodes(content["num_nodes"]), len(line))
    edges = _rows("edges", content["edges"])
    x, edge_attr = (None if content.get(name) is None else _rows(name, content[name]) for name in ("x", "edge_attr"))
    graph = Graph(content["num_nodes"], edges, x, edge_attr)
    if not labelled:
        return graph, []
    given = content["y"] if isinstance(content["y"], list) else [content["y"]]
    if not given or not all(type(value) in (int, float, type(None)) for value in given):
        raise InputError(f"y must be a number, null or a list of them, but it is {shown(content['y'])}")
    y = [math.nan if value is None else float(value) for value in given]
    if any(value is not None and not math.isfinite(value) for value in given):
        raise InputError(f"y must be finite, or null if it is unknown, but it is {shown(content['y'])}")
    return graph, y


def _rows(name: str, value: object) -> Array:
    try:
        return np.array(value) if value != [] else np.zeros((0, 2), dtype=np.int64)
    except ValueError:
        raise InputError(f"{name} must have the same number of columns in all rows, but their lengths differ") from None


def _sample(graph: Graph, y: list[float]) -> Sample:
    edges, edge_attr = graph.directed()
    return Sample(graph.num_nodes, shrink(edges), graph.x, edge_attr if graph.num_edges else None, y)


def _molecule(smiles: str, y: list[float], features: str) -> Sample:
    x, edges, edge_attr = FEATURES[features].featurise(smiles)
    return Sample(len(x), edges, x, edge_attr, y, smiles)
