"""What the labels of a file mean: which column is the target, which cells are classes, and which task follows."""

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pfgnn.data.arrays import Array
from pfgnn.data.table_file import TableFile, list_columns
from pfgnn.data.task import Task
from pfgnn.errors import InputError, shown

UNKNOWN = ("", "nan", "na", "n/a", "null")  # cells without a label, in lower case
# Names of columns that number or name the rows, such as "id", "mol_id", "CompoundID" or "Unnamed: 0".
IDENTIFIER = re.compile(
    r"(?i:(.*[\W_])?(id|idx|ids|index|key|no|nr|row|name|names|cas|cid|inchi|inchikey)|unnamed: \d+)?|.*[a-z](ID|Id)"
)
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
FEW_ROWS = 5  # with fewer rows, the values say nothing about the meaning of a column


class Labels:
    """How the cells of the target columns become numbers.

    A cell is a number, or unknown. But if there is one column and none of its cells is a number, its texts are classes.

    Args:
        names: What the columns are called in messages.
        rows: The cells of all rows.
        file: Where they are from, for messages.
        classes: Whether the texts are classes even if some of them are numbers.
    """

    def __init__(self, names: Sequence[str], rows: Iterable[Sequence[str]], file: Path, classes: bool = False) -> None:
        self.names, self.file = names, file
        known = [[cell for cell in row if not _is_unknown(cell)] for row in rows]
        texts = {cell for cells in known for cell in cells}
        numbers = [text for text in texts if _is_number(text)]
        single = all(len(cells) < 2 for cells in known)
        comma = next((text for text in sorted(texts) if DECIMAL_COMMA.fullmatch(text)), None)
        if comma is not None and all(DECIMAL_COMMA.fullmatch(text) or _is_number(text) for text in texts):
            raise InputError(f"{file}: numbers must have a decimal point, but there is {shown(comma)}; replace commas")
        as_text = single and texts and (len(numbers) < len(texts) if classes else not numbers)
        self.classes = tuple(sorted(texts)) if as_text else ()  # their texts, in the order of their numbers
        self.number = {text: float(number) for number, text in enumerate(self.classes)}

    def read(self, cells: Sequence[str]) -> list[float]:
        """The label of each cell: a number or the number of a class, NaN if it is unknown."""
        if self.classes:
            return [math.nan if _is_unknown(cell) else self.number[cell] for cell in cells]
        if len(cells) != len(self.names):
            first = f"{len(self.names)} in the first line of {self.file.name}"
            raise InputError(f"there must be as many labels for each graph, {first}, but here are {len(cells)}")
        return [_number(cell, name) for cell, name in zip(cells, self.names, strict=True)]


def choose_target(table: TableFile, smiles_column: str) -> tuple[str, str]:
    """Find the column of the targets if the user does not name one.

    Returns:
        Its name, and why it is the target.
    """
    names = [name for name in table.header if name != smiles_column]
    if not names:
        raise InputError(
            f"{table.path} must have at least one target besides column {shown(smiles_column)}, but it has none"
        )
    places = {name: table.place(name) for name in names}
    columns = {name: [row[place] for row in table.rows if place < len(row)] for name, place in places.items()}
    reasons = {name: why_no_target(name, cells) for name, cells in columns.items()}
    left = [name for name, reason in reasons.items() if not reason]
    out = [f"{shown(name)} {reason}" for name, reason in reasons.items() if reason]
    if len(left) > 1:
        raise InputError(
            f"{table.path} must have one column that can be the target, but it has {len(left)}: {list_columns(left)}; "
            "choose one or several by name (--target)"
        )
    if not left:
        raise InputError(
            f"{table.path} must have a column that can be the target, but {list_columns(out)}; "
            "choose one by name (--target)"
        )
    others = f"; {list_columns(out)}" if out else ""
    return left[0], f"{shown(left[0])}, the only column that can be one{others}"


def why_no_target(name: str, cells: Sequence[str]) -> str:
    """Why a column cannot be the target, to complete the sentence "The column ..."; "" if it can be."""
    if IDENTIFIER.fullmatch(name):
        return "is named like a number or name of each row"
    known = [cell for cell in cells if not _is_unknown(cell)]
    if not known:
        return "is empty"
    if len(known) < FEW_ROWS:
        return ""
    if known == cells and known in ([str(i) for i in range(len(known))], [str(i + 1) for i in range(len(known))]):
        return "counts the rows"
    if not any(map(_is_number, known)):
        distinct = len(set(known))
        if distinct == 1:
            return "has the same text in every row"
        if 2 * distinct > len(known):
            return "has too many different texts to be classes"
    return ""


def decide_task(
    y: Array, task: str | None, targets: Sequence[str] = (), classes: Sequence[str] = ()
) -> tuple[Array, Task, dict[str, str]]:
    """Decide whether targets are classes or numbers.

    Texts are classes. If the task is not given, one column of the integers 0, 1, 2, ... is taken for classes, unless
    most of them occur only once.

    Args:
        y: The targets, float64 [G, C]. NaN means unknown.
        task: See :func:`pfgnn.data.convert.convert`.
        targets: Names of the columns, if known.
        classes: If the targets are texts, these texts.

    Returns:
        The targets, the task, and what was decided and why.
    """
    unknown = np.isnan(y)
    if unknown.all(axis=0).any():
        place = int(unknown.all(axis=0).argmax())
        name = shown(targets[place]) if targets else f"target {place + 1} of {y.shape[1]}"
        raise InputError(f"every target must have a label in some row, but {name} has none")
    why = {"unknown labels": f"{int(unknown.sum())} of {y.size}"} if unknown.any() else {}
    distinct = np.unique(y[~unknown])
    counted = np.array_equal(distinct, np.arange(len(distinct)))
    if classes and task == "regression":
        raise InputError(f"task is regression, which takes numbers, but there are texts such as {shown(classes[0])}")
    if task == "classification" and y.shape[1] > 1:
        raise InputError(f"task is classification, which takes one column of targets, but there are {y.shape[1]}")
    repeated = y.size < FEW_ROWS or 2 * len(distinct) <= int((~unknown).sum())
    guessed = task is None and y.shape[1] == 1 and counted and repeated and len(distinct) > 1
    if not (classes or task == "classification" or guessed):
        numbers = "numbers" if y.shape[1] == 1 else f"{y.shape[1]} numbers for each graph"
        return y, Task("graph", y.shape[1], "l1", "mae", tuple(targets)), {"labels": numbers, **why}
    names = tuple(classes[int(value)] if classes else f"{value:.15g}" for value in distinct)
    if len(names) < 2:
        raise InputError(f"a classification must have at least 2 classes, but all labels are {shown(names[0])}")
    reason = "they are texts" if classes else "you chose it" if task else "they are integers from 0 without a gap"
    hint = "" if classes or task else " (if they are numbers, choose the task regression)"
    why = {"labels": f"{len(names)} classes, because {reason}{hint}", "classes": list_columns(names), **why}
    places = np.where(unknown, np.nan, np.searchsorted(distinct, y))
    made = Task("graph", len(names), "cross_entropy", "accuracy", tuple(targets) if counted and not classes else names)
    return places if unknown.any() else places.astype(np.int64), made, why


def _is_unknown(cell: str) -> bool:
    return cell.strip().lower() in UNKNOWN


def _is_number(cell: str) -> bool:
    if "_" in cell:  # Python would read 1_000 as a number
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(cell: str, name: str) -> float:
    if _is_unknown(cell):
        return math.nan
    value = float(cell) if _is_number(cell) else math.nan
    if not math.isfinite(value):
        raise InputError(f"{name} must be a finite number, but it is {shown(cell)}")
    return value
