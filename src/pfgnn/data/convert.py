"""The user's own graphs as a dataset: from tables of SMILES, graph6, TU folders and JSON lines."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pfgnn.data.columns import Array, guess_task, join_edges, stack
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import FEATURES
from pfgnn.data.sources import Sample, Source, read_csv, read_graph6_lines, read_json_lines
from pfgnn.data.tu import read_tu
from pfgnn.errors import InputError
from pfgnn.graphs.arrays import rank_rows

KINDS = ("csv", "graph6", "jsonl", "tu")
ENDINGS = {".csv": "csv", ".g6": "graph6", ".s6": "graph6", ".jsonl": "jsonl"}
TASKS = ("classification", "regression")

Progress = Callable[[int, int], None]


class Reject(NamedTuple):
    """A line that gave no graph.

    Attributes:
        line: its number, from 1.
        reason: what is wrong with it.
    """

    line: int
    reason: str


class Converted(NamedTuple):
    """What a conversion gave.

    Attributes:
        dataset: the graphs, in the order of the file.
        rejects: the lines that were skipped.
        smiles: the molecule of each graph, [G], which a split by scaffold needs; empty for kinds other than csv.
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

    Args:
        path: a CSV file with a column of SMILES, a file of graph6 or sparse6, a folder in TU format, or a file of JSON
            lines ``{"num_nodes": n, "edges": [[u, v], ...], "x": rows, "edge_attr": rows, "y": number or list}`` with
            undirected edges, where x and edge_attr are optional, and categories if all are integers from 0. Files may
            be gzipped (.gz).
        kind: csv, graph6, jsonl or tu; by default told from the ending.
        smiles_column: of a CSV file, the column of the molecules.
        targets: of a CSV file, the columns of the targets; by default all others.
        features: of molecules: ogb, zinc or qm9.
        labels: for graph6, a file with a line of comma-separated targets for each graph.
        task: classification, with the distinct targets as classes in ascending order, or regression; by default
            classification if the targets are one column of 0, 1, ..., each of which occurs. A TU folder has its own.
        on_error: what to do about a line that cannot be read: fail, or skip it. A TU folder is read whole or refused.
        progress: called with the number of lines done and of all lines.
        processes: how many read molecules; they are spawned, so a script needs its ``__main__`` guard.
    """
    file = Path(path)
    file.stat()  # whatever its ending, a path that is not there is refused as such
    kind = kind or _guess_kind(file)
    for name, value, allowed in (
        ("kind", kind, KINDS),
        ("features", features, tuple(FEATURES)),
        ("task", task or TASKS[0], TASKS),
        ("on_error", on_error, ("fail", "skip")),
    ):
        if value not in allowed:
            raise InputError(f"{name} is {value!r}, but must be one of: {', '.join(allowed)}")
    for name, given, where in (("targets", targets, "csv"), ("labels", labels, "graph6")):
        if given is not None and kind != where:
            raise InputError(f"{name} is for the kind {where}, but {file} is of the kind {kind}")
    if kind == "tu":
        if task is not None:
            raise InputError(f"task must not be given for a TU folder, which has its own, but it is {task!r}")
        return Converted(read_tu(file), [], [])
    if kind == "csv":
        source = read_csv(file, smiles_column, targets, features, processes)
    elif kind == "graph6":
        source = read_graph6_lines(file, labels)
    else:
        source = read_json_lines(file)
    samples, rejects = _collect(file, source, on_error == "fail", progress)
    dataset = _pack(file.name.split(".")[0], samples, source, task)
    return Converted(dataset, rejects, [sample.smiles for sample in samples if sample.smiles])


def _guess_kind(file: Path) -> str:
    if file.is_dir():
        return "tu"
    ending = Path(file.stem).suffix if file.suffix == ".gz" else file.suffix
    if ending not in ENDINGS:
        raise InputError(f"{file} ends in none of {', '.join(ENDINGS)}; give its kind as one of: {', '.join(KINDS)}")
    return ENDINGS[ending]


def _collect(file: Path, source: Source, fail: bool, progress: Progress | None) -> tuple[list[Sample], list[Reject]]:
    """Part samples from rejects."""
    samples: list[Sample] = []
    rejects: list[Reject] = []
    columns: dict[str, int] = {}
    with closing(source.items) as items:  # stops the processes behind it
        for done, (line, item) in enumerate(zip(source.lines, items, strict=True), start=1):
            try:
                sample = source.read(item)
                _check_columns(sample, columns)
                samples.append(sample)
            except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
                if fail:
                    raise InputError(f"{file.name}, line {line}: {error}") from None
                rejects.append(Reject(line, str(error)))
            if progress is not None:
                progress(done, len(source.lines))
    if not samples:
        cause = f": all lines were rejected, line {rejects[0].line} since {rejects[0].reason}" if rejects else ""
        raise InputError(f"{file} has no graph, but must have at least one{cause}")
    return samples, rejects


def _check_columns(sample: Sample, columns: dict[str, int]) -> None:
    """Refuse a sample with other numbers of columns than those before, which are in ``columns``."""
    widths = {"x": 0 if sample.x is None else sample.x.shape[1], "y": len(sample.y)}
    if sample.edges.size:  # without edges there is nothing to tell
        widths["edge_attr"] = 0 if sample.edge_attr is None else sample.edge_attr.shape[1]
    for name, width in widths.items():
        if columns.get(name, width) != width:
            raise InputError(f"{name} has {width} columns, but must have {columns[name]} like the graphs before")
    columns.update(widths)


def _pack(name: str, samples: list[Sample], source: Source, task: str | None) -> Dataset:
    y = _targets(np.array([sample.y for sample in samples], dtype=np.float64), task)
    x = stack("x", [sample.x for sample in samples])
    joined = [sample for sample in samples if sample.edges.size]
    edge_attr = stack("edge_attr", [sample.edge_attr for sample in joined or samples])
    guessed = guess_task(y)
    known = source.features
    return Dataset.from_arrays(
        name,
        replace(guessed, targets=source.targets) if len(source.targets) > 1 else guessed,
        node_counts=np.array([sample.nodes for sample in samples]),
        edge_counts=np.array([sample.edges.shape[1] for sample in samples]),
        edges=join_edges([sample.edges for sample in samples]),
        x=x,
        edge_attr=edge_attr,
        y=y,
        node_categories=known.node_categories if known else _categories(x),
        edge_categories=known.edge_categories if known else _categories(edge_attr),
    )


def _targets(y: Array, task: str | None) -> Array:
    """Targets, float64 [G, C]: as classes, int64 [G, 1], or as they are."""
    if task == "classification" and y.shape[1] > 1:
        raise InputError(f"task is classification, which takes one column of targets, but there are {y.shape[1]}")
    classes = rank_rows(y[:, :1])[:, None]
    guessed = task is None and y.shape[1] == 1 and (classes == y).all()
    return classes if task == "classification" or guessed else y


def _categories(values: Array | None) -> tuple[int, ...] | None:
    """How many categories each column has, if all values are integers from 0."""
    if values is None or values.dtype.kind not in "iu" or values.min() < 0:
        return None
    return tuple((values.max(axis=0).astype(np.int64) + 1).tolist())
