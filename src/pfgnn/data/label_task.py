"""Decide whether the labels of a file are classes or numbers."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import Array
from pfgnn.data.labels import FEW_ROWS, MOST_CLASSES
from pfgnn.data.table_file import list_columns
from pfgnn.data.task import Task
from pfgnn.errors import InputError, shown


class LabelTask(NamedTuple):
    """The task that labels stand for.

    Attributes:
        task: The task.
        values: Label of each class, ascending; None if the labels are numbers.
        complete: Whether all labels are known.
        about: What was decided and why.
    """

    task: Task
    values: npt.NDArray[np.float64] | None
    complete: bool
    about: dict[str, str]

    def targets(self, y: Array) -> Array:
        """Labels as targets of the task: [G, C] -> [G, C]."""
        if self.values is None:
            return y
        numbers = np.where(np.isnan(y), np.nan, np.searchsorted(self.values, y))
        return numbers.astype(np.int64) if self.complete else numbers


def decide_task(
    labels: Iterable[Array], task: str | None, names: Sequence[str] = (), classes: Sequence[str] = ()
) -> LabelTask:
    """Decide whether labels are classes or numbers.

    Texts are classes. If the task is not given, one column of the integers 0, 1, 2, ... is taken for classes, unless
    most of them occur only once; and several columns of 0 and 1 are labels that a graph has or has not.

    Args:
        labels: The labels, float64 [g, C], in one or several pieces. NaN means unknown.
        task: See :func:`pfgnn.data.convert.convert`.
        names: Names of the columns, if known.
        classes: If the labels are texts, these texts.
    """
    graphs, unknown, distinct = 0, np.zeros(1, dtype=np.int64), np.zeros(0)
    for piece in labels:
        graphs += len(piece)
        unknown = unknown + np.isnan(piece).sum(axis=0)
        if len(distinct) <= MOST_CLASSES:  # otherwise they are no classes
            distinct = np.union1d(distinct, piece[~np.isnan(piece)])
    size, missing = graphs * len(unknown), int(unknown.sum())
    if (unknown == graphs).any():
        place = int((unknown == graphs).argmax())
        name = shown(names[place]) if names else f"target {place + 1} of {len(unknown)}"
        raise InputError(f"every target must have a label in some row, but {name} has none")
    why = {"unknown labels": f"{missing} of {size}"} if missing else {}
    counted = len(distinct) <= MOST_CLASSES and np.array_equal(distinct, np.arange(len(distinct)))
    if classes and task == "regression":
        raise InputError(f"task is regression, which takes numbers, but there are texts such as {shown(classes[0])}")
    several = len(unknown) > 1
    if several and task != "regression" and np.array_equal(distinct, [0, 1]):
        hint = "" if task else " (if they are numbers, choose the task regression)"
        why = {"labels": f"{len(unknown)} labels of 0 and 1 for each graph{hint}", **why}
        made = Task("graph", len(unknown), "binary_cross_entropy", "roc_auc", tuple(names))
        return LabelTask(made, None, not missing, why)
    if several and task == "classification":
        other = next((f"{value:.15g}" for value in distinct if value not in (0, 1)), f"{distinct[0]:.15g} alone")
        raise InputError(
            f"several targets are a classification if all of them hold 0 and 1, but there is {other}; choose one target"
        )
    repeated = size < FEW_ROWS or 2 * len(distinct) <= size - missing
    guessed = task is None and not several and counted and repeated and len(distinct) > 1
    if not (classes or task == "classification" or guessed):
        made = Task("graph", len(unknown), "l1", "mae", tuple(names))
        numbers = "numbers" if len(unknown) == 1 else f"{len(unknown)} numbers for each graph"
        return LabelTask(made, None, not missing, {"labels": numbers, **why})
    if not 2 <= len(distinct) <= MOST_CLASSES:
        came = f"all labels are {shown(_name(distinct[0], classes))}" if len(distinct) == 1 else "there are more labels"
        rule = "at least 2 classes" if len(distinct) == 1 else f"at most {MOST_CLASSES} classes"
        raise InputError(f"a classification must have {rule}, but {came}")
    if classes and task is None and size >= FEW_ROWS and not repeated:
        raise InputError(
            f"the target must be numbers or classes, but {len(distinct)} of its {size - missing} texts differ, so they "
            "look like names; if they are classes, choose the task classification (--task)"
        )
    texts = tuple(_name(value, classes) for value in distinct)
    reason = "they are texts" if classes else "you chose it" if task else "they are integers from 0 without a gap"
    hint = "" if classes or task else " (if they are numbers, choose the task regression)"
    why = {"labels": f"{len(texts)} classes, because {reason}{hint}", "classes": list_columns(texts), **why}
    made = Task("graph", len(texts), "cross_entropy", "accuracy", tuple(names) if counted and not classes else texts)
    return LabelTask(made, distinct, not missing, why)


def _name(value: float, classes: Sequence[str]) -> str:
    return classes[int(value)] if classes else f"{value:.15g}"
