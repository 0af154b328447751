"""Convert the user's own graphs into a dataset: from tables of SMILES, graph6, TU folders or JSON lines."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, join_edges
from pfgnn.data.dataset import Dataset
from pfgnn.data.graph_files import (
    Sample,
    Source,
    read_csv,
    read_graph6_lines,
    read_json_lines,
    read_smiles_with_labels,
)
from pfgnn.data.labels import decide_task
from pfgnn.data.molecules import FEATURES
from pfgnn.data.table_file import SMILES, TABLES
from pfgnn.data.tu import read_tu
from pfgnn.errors import InputError, shown
from pfgnn.files import ending, reading
from pfgnn.graphs.arrays import stack

KINDS = ("csv", "smi", "graph6", "jsonl", "tu")
ENDINGS = {
    **dict.fromkeys(TABLES, "csv"),
    **dict.fromkeys(SMILES, "smi"),
    **dict.fromkeys((".g6", ".s6"), "graph6"),
    ".jsonl": "jsonl",
}
TASKS = ("classification", "regression")

Progress = Callable[[int, int], None]


class Reject(NamedTuple):
    """A line that could not be read.

    Attributes:
        line: Number of the line, from 1.
        reason: What is wrong with it.
    """

    line: int
    reason: str


class Converted(NamedTuple):
    """The result of a conversion.

    Attributes:
        dataset: The graphs, in the order of the file.
        rejects: The lines that were skipped.
        smiles: SMILES of each graph, length G, for a split by scaffold. Empty for other kinds than csv and smi.
    """

    dataset: Dataset
    rejects: list[Reject]
    smiles: list[str]


def convert(
    path: str | Path,
    *,
    kind: str | None = None,
    smiles_column: str = "smiles",
    targets: Sequence[str] | None = None,
    features: str = "ogb",
    labels: str | Path | None = None,
    task: str | None = None,
    on_error: str = "fail",
    progress: Progress | None = None,
    processes: int = 2,
) -> Converted:
    """Read graphs with their targets into one dataset.

    An empty target, or NaN, is unknown; in JSON it is null. ``dataset.about`` says which target and task were chosen,
    and why.

    Args:
        path: A CSV file with a column of SMILES, a file of SMILES, a file of graph6 or sparse6, a folder in TU format,
            or a file of JSON lines ``{"num_nodes": n, "edges": [[u, v], ...], "x": rows, "edge_attr": rows, "y": number
            or list}``. The edges in JSON are undirected. Its x and edge_attr are optional, and are read as categories
            if all values are integers from 0. Files may be gzipped (.gz).
        kind: Kind of the source: csv, smi, graph6, jsonl or tu. By default the ending of the path decides.
        smiles_column: For csv, the column of the molecules.
        targets: For csv, the columns of the targets. By default the only other column that can be one: a column that
            numbers or names the molecules is none. If there are several, an error names them.
        features: For csv and smi, the features of the molecules: ogb, zinc or qm9.
        labels: For graph6 and smi, a file with one line of comma-separated targets for each graph.
        task: Either classification, with the distinct targets as classes in ascending order, or regression. By default
            classification if there is one column of targets, and its values are texts, or 0, 1, 2, ... without a gap
            and not most of them once. Must be None for a TU folder, whose files determine the task.
        on_error: What to do with a line that cannot be read: fail or skip. An error in a TU folder always fails.
        progress: Called after each line with the number of lines done and the number of all lines.
        processes: Number of processes that read molecules. They are spawned, so a script needs an
            ``if __name__ == "__main__"`` guard.
    """
    file = Path(path)
    file.stat()  # raises the same error for every missing path, whatever its ending
    kind = kind or _guess_kind(file)
    for name, value, allowed in (
        ("kind", kind, KINDS),
        ("features", features, tuple(FEATURES)),
        ("task", task or TASKS[0], TASKS),
        ("on_error", on_error, ("fail", "skip")),
    ):
        if value not in allowed:
            raise InputError(f"{name} must be one of {', '.join(allowed)}, but it is {shown(value)}")
    for name, option, given, where in (
        ("targets", "--target", targets, ("csv",)),
        ("labels", "--labels", labels, ("graph6", "smi")),
    ):
        if given is not None and kind not in where:
            raise InputError(
                f"{name} ({option}) is for the kind {' or '.join(where)}, but {file} is of the kind {kind}"
            )
    if kind == "tu":
        if task is not None:
            raise InputError(f"task must not be given for a TU folder, which has its own, but it is {shown(task)}")
        return Converted(read_tu(file), [], [])
    classes = task == "classification"
    if kind == "csv":
        source = read_csv(file, smiles_column, targets, features, processes, classes)
    elif kind == "smi":
        source = read_smiles_with_labels(file, labels, features, processes, classes)
    elif kind == "graph6":
        source = read_graph6_lines(file, labels, classes)
    else:
        source = read_json_lines(file)
    samples, rejects = _collect(file, source, on_error == "fail", progress)
    dataset = _pack(file, samples, source, task)
    return Converted(dataset, rejects, [sample.smiles for sample in samples if sample.smiles])


def _guess_kind(file: Path) -> str:
    if file.is_dir():
        return "tu"
    if ending(file) not in ENDINGS:
        raise InputError(f"{file} ends in none of {', '.join(ENDINGS)}; give its kind as one of: {', '.join(KINDS)}")
    return ENDINGS[ending(file)]


def _collect(file: Path, source: Source, fail: bool, progress: Progress | None) -> tuple[list[Sample], list[Reject]]:
    """Read all lines. Returns the samples, and the lines that were rejected."""
    samples: list[Sample] = []
    rejects: list[Reject] = []
    columns: dict[str, int] = {}
    with closing(source.items) as items:  # closing stops the processes that read molecules
        for done, (line, item) in enumerate(zip(source.lines, items, strict=True), start=1):
            try:
                sample = source.read(item)
                _check_columns(sample, columns)
                samples.append(sample)
            except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
                reason = str(error) or type(error).__name__
                if fail:
                    raise InputError(f"{file.name}, line {line}: {reason}") from None
                rejects.append(Reject(line, reason))
            if progress is not None:
                progress(done, len(source.lines))
    if not samples:
        cause = f": all lines were rejected, line {rejects[0].line} since {rejects[0].reason}" if rejects else ""
        raise InputError(f"{file} must have at least one graph, but it has none{cause}")
    return samples, rejects


def _check_columns(sample: Sample, columns: dict[str, int]) -> None:
    """Raise an error if a sample has other numbers of columns than the samples before it; update ``columns``."""
    widths = {"x": 0 if sample.x is None else sample.x.shape[1], "y": len(sample.y)}
    if sample.edges.size:  # a graph without edges does not show the columns of edge_attr
        widths["edge_attr"] = 0 if sample.edge_attr is None else sample.edge_attr.shape[1]
    for name, width in widths.items():
        if columns.get(name, width) != width:
            raise InputError(f"{name} must have {columns[name]} columns like the graphs before, but it has {width}")
    columns.update(widths)


def _pack(file: Path, samples: list[Sample], source: Source, task: str | None) -> Dataset:
    y = np.array([sample.y for sample in samples], dtype=np.float64)
    with reading(file, "have targets for a task"):
        y, decided, why = decide_task(y, task, source.targets, source.classes)
    x = stack("x", [sample.x for sample in samples])
    joined = [sample for sample in samples if sample.edges.size]
    edge_attr = stack("edge_attr", [sample.edge_attr for sample in joined or samples])
    known = source.features
    return Dataset.from_arrays(
        file.name.split(".")[0],
        decided,
        node_counts=np.array([sample.nodes for sample in samples]),
        edge_counts=np.array([sample.edges.shape[1] for sample in samples]),
        edges=join_edges([sample.edges for sample in samples]),
        x=x,
        edge_attr=edge_attr,
        y=y,
        node_categories=known.node_categories if known else _categories(x),
        edge_categories=known.edge_categories if known else _categories(edge_attr),
        about={"source": f"converted from {file.name}", **source.about, **why},
    )


def _categories(values: Array | None) -> tuple[int, ...] | None:
    """Number of categories of each column if all values are integers from 0, else None."""
    if values is None or values.dtype.kind not in "iu" or values.min() < 0:
        return None
    return tuple((values.max(axis=0).astype(np.int64) + 1).tolist())
