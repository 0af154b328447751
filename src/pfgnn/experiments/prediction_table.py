"""The table that `pfgnn predict` writes: the columns of the input, and the predictions."""

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.data.convert import Reject
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError, shown
from pfgnn.files import write_atomically

PLACES = ("graph", "node")  # columns that say where a prediction belongs
NOISE = "Monte Carlo standard error"
CLASS, OUTSIDE = "predicted class", "outside training"
EMPTY = "(none)"  # a set without a class
DIGITS, MOST_DIGITS = 7, 16  # of a number: those of float32, and those of float64


class Columns(NamedTuple):
    """The columns of a table of graphs.

    Fields:
        names: Name of each column.
        rows: The values of each graph, in the order of the names.
    """

    names: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


class Predictions(NamedTuple):
    """The predictions of some graphs, with one row for each graph, or for each node at node level.

    A graph that could not be read has NaN as its prediction; at node level it has no row.

    Fields:
        mean: Mean of the predictions over the draws, [rows, C].
        error: Monte Carlo standard error of the mean, [rows, C]. It tells how far the mean may be from the mean over
            infinitely many draws. It tells nothing about how far the prediction is from the truth. NaN with one draw.
        names: Names of the C outputs.
        where: Number of the graph, [rows, 1]. At node level also the number of the node in its graph, [rows, 2].
        carried: Columns of the input.
        first: Number of the graph that the first row of ``carried`` belongs to.
        rejects: The lines of the input that could not be read.
        interval: Ends of the interval of each output, [rows, C, 2], and its coverage; None if none was asked for.
        outside: Why the graph of each row is unlike all training graphs of the model, "" if it is not; None if it is
            not known what these were like.
        classes: Names of the C classes; empty if the outputs are no classes.
        sets: For each row which classes are in the set that holds the true one, [rows, C], and its coverage; None if
            none was asked for.
        deviations: Standard deviation of each target in the training part, [C]; None if it is not known.
    """

    mean: Tensor
    error: Tensor
    names: Sequence[str]
    where: Tensor
    carried: Columns = Columns()
    first: int = 0
    rejects: Sequence[Reject] = ()
    interval: tuple[Tensor, float] | None = None
    outside: Sequence[str] | None = None
    classes: Sequence[str] = ()
    sets: tuple[Tensor, float] | None = None
    deviations: Tensor | None = None

    def write(self, path: Path) -> None:
        """Write a CSV table, see :func:`write_table`."""
        write_table(path, [self])

    def header(self) -> list[str]:
        """The names of the columns of :meth:`rows`."""
        ends, sets = (None if of is None else of[1] for of in (self.interval, self.sets))
        named = class_columns(sets) if self.classes else []
        outside = [] if self.outside is None else [OUTSIDE]
        return [
            *PLACES[: self.where.shape[1]],
            *self.carried.names,
            *named,
            *output_columns(self.names, ends),
            *outside,
        ]

    def rows(self) -> Iterator[list[object]]:
        """The rows of a table: the graph (and node), the columns of the input, the class, and each output."""
        columns = torch.stack([self.mean, self.error], -1)
        values = columns if self.interval is None else torch.cat([columns, self.interval[0]], -1)
        named = self._named()
        scales = [0.0] * len(self.names) if self.deviations is None else self.deviations.tolist()
        scales = [scale for scale in scales for _ in range(values.shape[-1])]
        for number, (place, row) in enumerate(zip(self.where.tolist(), values.flatten(1).tolist(), strict=True)):
            given = self.carried.rows[place[0] - self.first] if self.carried.rows else ()
            outside = [] if self.outside is None else [self.outside[number]]
            cells = map(_written, row, scales)
            yield [*place, *given, *named[number], *cells, *outside]

    def _named(self) -> list[list[str]]:
        """For each row the likeliest class, and the classes of its set if there are sets; empty without classes."""
        if not self.classes:
            return [[] for _ in self.mean]
        found = [
            ["" if math.isnan(row[0]) else self.classes[max(range(len(row)), key=row.__getitem__)]]
            for row in self.mean.tolist()
        ]
        if self.sets is not None:
            for cells, held in zip(found, self.sets[0].tolist(), strict=True):
                cells.append("; ".join(name for name, is_in in zip(self.classes, held, strict=True) if is_in) or EMPTY)
        return found


def _written(value: float, scale: float) -> str:
    """A number with seven digits, and with more if it is far larger than the deviation of its target."""
    if math.isnan(value):
        return ""
    offset = abs(value) / scale if scale > 0 else 0.0
    digits = DIGITS + math.log10(min(max(offset, 1), 10**MOST_DIGITS))
    return f"{value:.{min(math.ceil(digits), MOST_DIGITS)}g}"


def write_table(path: Path, pieces: Iterable[Predictions]) -> int:
    """Write predictions as a CSV table, piece by piece. The file appears when all are written.

    Args:
        path: The file.
        pieces: The predictions.

    Returns:
        Number of rows.
    """
    count = 0

    def fill(temporary: Path) -> None:
        nonlocal count
        with temporary.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            for number, piece in enumerate(pieces):
                if number == 0:
                    table.writerow(piece.header())
                table.writerows(piece.rows())
                count += len(piece.mean)

    write_atomically(path, fill)
    return count


def output_names(task: Task) -> list[str]:
    """A name for each output of a task. It says what the output is, so that it is not taken for the target itself."""
    numbers, named = range(task.outputs), list(task.targets)
    if task.loss in CLASS_LOSSES and len(named) != task.outputs:
        named = [" ".join([*task.targets, f"class {c}"]) for c in numbers]
    what = "predicted" if task.loss == "l1" else "probability of"
    return [
        f"{what} {name}" for name in named or (["target"] if task.outputs == 1 else [f"target {c}" for c in numbers])
    ]


def class_names(task: Task) -> list[str]:
    """The names of the classes of a task, or their numbers; empty if its outputs are no classes."""
    if task.loss not in CLASS_LOSSES:
        return []
    return list(task.targets) if len(task.targets) == task.outputs else [str(c) for c in range(task.outputs)]


def written_columns(task: Task, outside: bool, coverage: float | None) -> list[str]:
    """The columns that predictions of a task may have beside those of the input.

    Args:
        task: Task of the model.
        outside: Whether it is known what the training graphs were like.
        coverage: Coverage of the intervals or sets; None if there are none.
    """
    classes = class_columns(coverage) if task.loss in CLASS_LOSSES else []
    ends = None if classes else coverage
    return [*PLACES, *classes, *output_columns(output_names(task), ends), *([OUTSIDE] if outside else [])]


def class_columns(coverage: float | None) -> list[str]:
    """The columns of the predicted class, and of the set of classes if there are sets of a coverage."""
    return [CLASS, *([] if coverage is None else [f"classes at {100 * coverage:g} %"])]


def check_names(path: Path, columns: Sequence[str], written: Sequence[str]) -> None:
    """Raise an InputError if a column of the input has the name of a column that is written beside it.

    Args:
        path: The input, for the message.
        columns: Names of its columns.
        written: Names of the columns that are written.
    """
    for name in written:
        if name in columns:
            raise InputError(f"{path} must not have a column {shown(name)}, for predictions have one; rename it")


def output_columns(names: Sequence[str], coverage: float | None = None) -> list[str]:
    """The columns of the outputs: each output, its noise, and the ends of its interval if there are intervals."""
    ends = [] if coverage is None else [f"{end} end of {100 * coverage:g} % interval" for end in ("lower", "upper")]
    return [column for name in names for column in (name, *(f"{name}, {what}" for what in (NOISE, *ends)))]
