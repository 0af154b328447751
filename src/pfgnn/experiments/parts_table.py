"""The table parts.csv of a model folder: the part, the SMILES and the true targets of each graph."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.experiments.intervals import COVERAGE
from pfgnn.experiments.prediction_table import Columns, Predictions, written_columns
from pfgnn.files import reading, write_atomically


def write_parts(
    path: Path, dataset: Dataset, smiles: Sequence[str], lines: Sequence[int] = (), columns: Columns | None = None
) -> None:
    """Write one row for each graph, see :mod:`pfgnn.experiments.model_folder`.

    Args:
        path: The file.
        dataset: The graphs with their parts. A graph is in at most one of them.
        smiles: SMILES of each graph; empty if the graphs are no molecules.
        lines: Line of each graph in the input; empty if it has no lines.
        columns: Further columns of the input. One that is named like a column of this table gets "input" before it.
    """
    parts = [""] * len(dataset)
    for name, graphs in dataset.splits.items():
        for graph in graphs.tolist():
            parts[graph] = name
    names_given, rows = columns or Columns()
    names = _target_names(dataset.task, dataset.y.shape[1])
    own = [name for name, of in (("smiles", smiles), ("line", lines)) if of]
    written = {*own, *names, "part", *written_columns(dataset.task, True, COVERAGE)}
    carried = [f"input {name}" if name in written else name for name in names_given]

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["graph", "part", *own, *carried, *names])
            for number, (part, values) in enumerate(zip(parts, dataset.y.tolist(), strict=True)):
                given = [of[number] for of in (smiles, lines) if of]
                rest = rows[number] if rows else ()
                table.writerow([number, part, *given, *rest, *(_shown(value, dataset.task) for value in values)])

    write_atomically(path, write)


def write_test(path: Path, found: Predictions, graphs: Array, parts: Path) -> None:
    """Write the predictions of the test part beside the true values.

    Args:
        path: The file.
        found: The predictions.
        graphs: The number of each graph.
        parts: The file that :func:`write_parts` wrote.
    """
    table = found._replace(carried=_read_parts(parts, graphs))

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table.header())
            writer.writerows([number, *row[1:]] for number, row in zip(graphs.tolist(), table.rows(), strict=True))

    write_atomically(path, write)


def _read_parts(path: Path, graphs: Array) -> Columns:
    """The columns of parts.csv from smiles on, of some graphs."""
    wanted = set(graphs.tolist())
    with reading(path, "be the table of parts of a model folder"), path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows)
        found = {int(number): values for number, _, *values in rows if int(number) in wanted}
        return Columns(header[2:], [found[number] for number in graphs.tolist()])


def _target_names(task: Task, columns: int) -> list[str]:
    if len(task.targets) == columns:
        return [f"true {name}" for name in task.targets]
    if columns == 1:
        return ["true class" if task.loss in CLASS_LOSSES else "true target"]
    return [f"true target {column}" for column in range(columns)]


def _shown(value: float, task: Task) -> str:
    if math.isnan(value):
        return ""
    named = task.loss in CLASS_LOSSES and len(task.targets) == task.outputs
    return task.targets[int(value)] if named else f"{value:.15g}"
