"""Read the graphs of a fit from a file: a table of SMILES, graph6 with labels, JSON lines, or a packed file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pfgnn.data.convert import Converted, convert
from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import is_folder
from pfgnn.data.table_file import open_table
from pfgnn.errors import InputError, shown
from pfgnn.experiments.fit import Given
from pfgnn.experiments.prediction_table import Columns


def read_given(
    path: Path,
    *,
    smiles_column: str | None = None,
    targets: Sequence[str] | None = None,
    features: str = "ogb",
    labels: Path | None = None,
    task: str | None = None,
    on_error: str = "fail",
    split_column: str | None = None,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Given:
    """Read the graphs of a fit. See :func:`pfgnn.data.convert.convert` for the other arguments.

    Args:
        path: What `pfgnn data convert` reads, a packed file (.pfgnn) or a folder of shards.
        smiles_column: Of a table, the column of SMILES; None for the column that looks like it.
        targets: Of a table, the columns of the targets.
        features: Features of molecules.
        labels: File of the labels of graph6 and SMILES.
        task: "classification" or "regression"; None to decide by the targets.
        on_error: "fail" or "skip".
        split_column: Of a table, the column of the parts, which must name train and test; None to draw parts.
        processes: Number of processes that read.
        progress: Called with the number of lines done and of all lines.
    """
    path.stat()  # raises at once if there is no such file
    if path.suffix == ".pfgnn" or is_folder(path):
        given = {
            "--target": targets,
            "--labels": labels,
            "--task": task,
            "--smiles-column": smiles_column,
            "--split-column": split_column,
        }
        for option, value in given.items():
            if value is not None:
                raise InputError(f"{option} must not be given for a packed file, which has its own, but it is {value}")
        return Given(Dataset.open(path), source=str(path))
    done = convert(
        path,
        progress=progress,
        processes=processes,
        smiles_column=smiles_column,
        targets=targets,
        features=features,
        labels=labels,
        task=task,
        on_error=on_error,
        split_column=split_column,
    )
    splits = {} if split_column is None else done.dataset.splits
    for part in ("train", "test") if split_column is not None else ():
        if part not in splits:
            there = ", ".join(splits)
            raise InputError(
                f"column {shown(split_column)} of {path} must name {part} graphs, but it names only {there}"
            )
    column = done.dataset.about.get("SMILES column", "")
    return Given(
        replace(done.dataset, splits=splits),
        done.smiles,
        source=str(path),
        smiles_column=column,
        rejects=done.rejects,
        lines=done.lines,
        columns=_other_columns(path, column, done) if done.smiles else None,
    )


def _other_columns(path: Path, smiles_column: str, done: Converted) -> Columns:
    """The columns of a table, or the names in a file of SMILES, except for the SMILES and the targets."""
    table = open_table(path)
    used = {smiles_column or "smiles", *done.targets}
    places = [place for place, name in enumerate(table.header) if name not in used]
    read = set(done.lines)
    rows = [[row[place] for place in places] for line, row in table.read() if line in read]
    return Columns([table.header[place] for place in places], rows)
