"""What is converted and how: the settings of a conversion, and the dataset that follows from the labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

import numpy as np

from pfgnn.data.arrays import Array, shrink
from pfgnn.data.convert_pieces import Reject, say_rejects
from pfgnn.data.dataset import Dataset
from pfgnn.data.graph_files import Source, read_csv, read_graph6_lines, read_json_lines, read_smiles_with_labels
from pfgnn.data.label_task import LabelTask, decide_task
from pfgnn.data.molecules import FEATURES
from pfgnn.data.split_column import read_split_column
from pfgnn.data.table_file import SMILES, TABLES
from pfgnn.errors import InputError, shown
from pfgnn.files import ending, reading
from pfgnn.graphs.arrays import IntArray

SPREADSHEET = "a spreadsheet can be saved as CSV"
STRUCTURES = "RDKit's PandasTools can write its molecules as a CSV with a column of SMILES"
HINTS = {".xlsx": SPREADSHEET, ".xls": SPREADSHEET, ".ods": SPREADSHEET, ".sdf": STRUCTURES, ".mol": STRUCTURES}
KINDS = ("csv", "smi", "graph6", "jsonl", "tu")
ENDINGS = {
    **dict.fromkeys(TABLES, "csv"),
    **dict.fromkeys(SMILES, "smi"),
    **dict.fromkeys((".g6", ".s6"), "graph6"),
    ".jsonl": "jsonl",
}
TASKS = ("classification", "regression")
ON_ERROR = ("fail", "skip")

Parts = tuple[dict[str, IntArray], dict[str, str]]
Categories = tuple[tuple[int, ...] | None, tuple[int, ...] | None]


class Settings(TypedDict, total=False):
    """The settings of a :class:`Conversion`, as keywords."""

    kind: str | None
    smiles_column: str | None
    targets: Sequence[str] | None
    features: str
    labels: str | Path | None
    task: str | None
    on_error: str
    split_column: str | None


@dataclass(frozen=True)
class Conversion:
    """The settings of a conversion, which are checked.

    Args:
        path: A CSV file with a column of SMILES, a file of SMILES, a file of graph6 or sparse6, a folder in TU format,
            or a file of JSON lines ``{"num_nodes": n, "edges": [[u, v], ...], "x": rows, "edge_attr": rows, "y": number
            or list}``. The edges in JSON are undirected. Its x and edge_attr are optional, and are read as categories
            if all values are integers from 0. Files may be gzipped (.gz).
        kind: Kind of the source: csv, smi, graph6, jsonl or tu. By default the ending of the path decides.
        smiles_column: For csv, the column of the molecules. By default the one that is named or looks like it.
        targets: For csv, the columns of the targets. By default the only other column that can be one: a column that
            numbers or names the molecules is none. If there are several, an error names them.
        features: For csv and smi, the features of the molecules: ogb, zinc or qm9.
        labels: For graph6 and smi, a file with one line of comma-separated targets for each graph.
        task: Either classification, with the distinct targets as classes in ascending order, or regression. By default
            classification if there is one column of targets, and its values are texts, or 0, 1, 2, ... without a gap
            and most values occur more than once. Must be None for a TU folder, whose files determine the task.
        on_error: What to do with a line that cannot be read: fail or skip. An error in a TU folder always fails.
        split_column: For csv, the column that names the part of each row: train, validation, test, or empty.
    """

    path: str | Path
    kind: str | None = None
    smiles_column: str | None = None
    targets: Sequence[str] | None = None
    features: str = "ogb"
    labels: str | Path | None = None
    task: str | None = None
    on_error: str = "fail"
    split_column: str | None = None

    def __post_init__(self) -> None:
        self.file.stat()  # raises the same error for every missing path, whatever its ending
        object.__setattr__(self, "kind", self.kind or _guess_kind(self.file))
        for name, value, allowed in (
            ("kind", self.kind, KINDS),
            ("features", self.features, tuple(FEATURES)),
            ("task", self.task or TASKS[0], TASKS),
            ("on_error", self.on_error, ON_ERROR),
        ):
            if value not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}, but it is {shown(value)}")
        for name, option, given, where in (
            ("targets", "--target", self.targets, ("csv",)),
            ("split_column", "--split-column", self.split_column, ("csv",)),
            ("labels", "--labels", self.labels, ("graph6", "smi")),
        ):
            if given is not None and self.kind not in where:
                kinds = " or ".join(where)
                raise InputError(
                    f"{name} ({option}) is for the kind {kinds}, but {self.file} is of the kind {self.kind}"
                )
        if self.kind == "tu" and self.task is not None:
            raise InputError(f"task must not be given for a TU folder, which has its own, but it is {shown(self.task)}")

    @property
    def file(self) -> Path:
        """The path."""
        return Path(self.path)

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.file.name.split(".")[0]

    def source(self) -> Source:
        """Read the file once, to learn what its lines hold. This is for all kinds but tu."""
        classes = self.task == "classification"
        if self.kind == "csv":
            return read_csv(self.file, self.smiles_column, self.targets, self.features, classes, self.split_column)
        if self.kind == "smi":
            return read_smiles_with_labels(self.file, self.labels, self.features, classes)
        if self.kind == "graph6":
            return read_graph6_lines(self.file, self.labels, classes)
        return read_json_lines(self.file)

    def check(self, rejects: Iterable[Reject], graphs: int = 1) -> None:
        """Raise an InputError if a line was rejected and ``on_error`` is fail, or if there are no graphs.

        Args:
            rejects: The rejected lines.
            graphs: Number of graphs.
        """
        found = iter(rejects)
        first = next(found, None)
        if first is not None and self.on_error == "fail":
            raise InputError(say_rejects(self.file.name, [first, *found]))
        if not graphs:
            cause = f": all lines were rejected, line {first.line} since {first.reason}" if first else ""
            raise InputError(f"{self.file} must have at least one graph, but it has none{cause}")

    def named_parts(self, rejects: Iterable[Reject]) -> Parts:
        """The parts that ``split_column`` names, and a note about them. Both are empty without such a column.

        Args:
            rejects: The rejected lines.
        """
        if self.split_column is None:
            return {}, {}
        parts = read_split_column(self.file, self.split_column, {reject.line for reject in rejects})
        sizes = ", ".join(f"{len(part)} {name}" for name, part in parts.items())
        return parts, {"parts": f"{sizes}, as column {shown(self.split_column)} names them"}

    def decide(self, source: Source, labels: Iterable[Array]) -> LabelTask:
        """The task of the labels, see :func:`pfgnn.data.label_task.decide_task`."""
        with reading(self.file, "have targets for a task"):
            return decide_task(labels, self.task, source.targets, source.classes)

    def finish(self, dataset: Dataset, source: Source, decided: LabelTask, categories: Categories) -> Dataset:
        """The dataset of graphs whose targets are still labels.

        Args:
            dataset: The graphs.
            source: What is known of the file.
            decided: The task of the labels.
            categories: Number of categories of each column of x and of edge_attr, or None.
        """
        return replace(
            dataset,
            name=self.name,
            task=decided.task,
            y=shrink(decided.targets(dataset.y)),
            node_categories=categories[0],
            edge_categories=categories[1],
            about={"source": f"converted from {self.file.name}", **source.about, **decided.about},
        )


def _guess_kind(file: Path) -> str:
    if file.is_dir():
        return "tu"
    if ending(file) not in ENDINGS:
        hint = HINTS.get(ending(file))
        ends = f"{shown(ending(file))}; {hint}" if hint else shown(ending(file))
        raise InputError(f"{file} must end in one of {', '.join(ENDINGS)}, but it ends in {ends}")
    return ENDINGS[ending(file)]


def find_categories(source: Source, datasets: Iterable[Dataset]) -> Categories:
    """The number of categories of each column of x and of edge_attr, or None if they are no categories.

    Args:
        source: Knows the features of molecules. Other features are categories if all are integers from 0.
        datasets: All graphs, in one or several datasets.
    """
    if source.features is not None:
        return source.features.node_categories, source.features.edge_categories
    return integer_categories(datasets)


def integer_categories(datasets: Iterable[Dataset], most: int | None = None) -> Categories:
    """The number of categories of each column of x and of edge_attr, if all values are integers from 0; else None.

    Args:
        datasets: All graphs, in one or several datasets.
        most: Integers from this one on are numbers, not categories.
    """
    found: list[list[tuple[int, ...] | None]] = [[], []]
    for dataset in datasets:
        for kinds, values in zip(found, (dataset.x, dataset.edge_attr), strict=True):
            if values is not None and values.size:
                whole = values.dtype.kind in "iu" and values.min() >= 0 and (most is None or values.max() < most)
                kinds.append(tuple((values.max(axis=0).astype(np.int64) + 1).tolist()) if whole else None)
    return _largest(found[0]), _largest(found[1])


def _largest(kinds: list[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """The largest number of categories of each column; None if any of the columns are no categories."""
    whole = [kind for kind in kinds if kind is not None]
    return tuple(map(max, *whole, whole[0])) if whole and len(whole) == len(kinds) else None
