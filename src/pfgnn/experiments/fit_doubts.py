"""What may be wrong with the data of a fit, such as too few graphs, or a molecule in two parts."""

import shlex
from collections.abc import Iterator

import numpy as np

from pfgnn.data.arrays import Array
from pfgnn.data.copies import conflicts
from pfgnn.data.dataset import Dataset
from pfgnn.data.split_column import names_parts
from pfgnn.data.task import Task
from pfgnn.errors import shown
from pfgnn.experiments.calibration import least_graphs
from pfgnn.experiments.fit_parts import CALIBRATION
from pfgnn.experiments.intervals import COVERAGE, say_no_interval
from pfgnn.experiments.prediction_table import Columns, class_names
from pfgnn.graphs.arrays import IntArray

FEW = 20  # graphs with a target; with fewer, hardly anything can be learned or tested
LEAST_OF_CLASS = 2  # graphs of a class in a part
MOST_NAMED = 5  # classes that a warning names
UNEVEN = 5  # deviations of the targets per deviation of their middle half; 1 for a normal distribution, 2 for e^normal
MIDDLE_HALF = 1.349  # length of the middle half of a normal distribution, in deviations


def doubts(dataset: Dataset, copies: IntArray | None = None) -> list[str]:
    """What may be wrong with the data of a fit: sentences without a full stop.

    Args:
        dataset: The graphs with their parts.
        copies: For each graph the number of the first one that is the same molecule, [G]; None if it is not known.
    """
    unknown = int(np.isnan(dataset.y.astype(np.float64)).all(1).sum())
    known = len(dataset) - unknown
    found = []
    if unknown:
        found.append(f"{_are(unknown)} no target and {'is' if unknown == 1 else 'are'} left out")
    if known < FEW:
        found.append(f"only {_are(known)} a target; with fewer than {FEW}, the test says little")
    held, needed = len(dataset.splits.get(CALIBRATION, ())), least_graphs(COVERAGE)
    if 0 < held < needed:
        found.append(
            f"intervals that hold {100 * COVERAGE:g} % of the true values need {needed} graphs for calibration, but "
            f"there {'is' if held == 1 else 'are'} {held}; give more graphs or a larger --calibration-fraction"
        )
    if held >= needed and dataset.task.loss == "l1":
        found += _without_interval(dataset)
    found += [*_rare_classes(dataset), *_alike_classes(dataset.task), *_odd_numbers(dataset)]
    if copies is not None and (wrong := conflicts(copies, dataset.y)):
        found.append(
            f"{wrong} molecules have a copy with another target, so no model can be right about all of them; give each "
            "molecule one target"
        )
    test = dataset.splits.get("test")
    if copies is not None and test is not None:
        twice = int(np.isin(copies[test], copies[dataset.splits["train"]]).sum())
        if twice:
            found.append(f"{twice} of {len(test)} test molecules are in the training part too, so the test is too easy")
    return found


def unused_parts(columns: Columns) -> list[str]:
    """A warning of each column that names parts. Fit has not used it, so its test part is not that of the user.

    Args:
        columns: The columns of the table that are neither SMILES nor targets.
    """
    return [
        f"column {shown(name)} names parts, but they are drawn anew; use them with --split-column {shlex.quote(name)}"
        for place, name in enumerate(columns.names)
        if names_parts(row[place] for row in columns.rows if place < len(row))
    ]


def _without_interval(dataset: Dataset) -> list[str]:
    """A warning if some targets are known of too few graphs of the calibration part."""
    counts = (~np.isnan(dataset.y[dataset.splits[CALIBRATION]])).sum(0).tolist()
    said = say_no_interval({_name(dataset, number): count for number, count in enumerate(counts)}, COVERAGE)
    return [f"{said}; give a larger --calibration-fraction"] if said else []


def _name(dataset: Dataset, number: int) -> str:
    return dataset.task.targets[number] if dataset.task.targets else f"target {number}"


def _rare_classes(dataset: Dataset) -> list[str]:
    """A warning if some classes, or some values of a label, have hardly any graph in some parts."""
    rare: dict[str, list[str]] = {}
    for part, graphs in dataset.splits.items():
        for name, count in _class_counts(dataset.y[np.unique(graphs)], dataset.task):
            if count < LEAST_OF_CLASS:
                rare.setdefault(name, []).append(part)
    if not rare:
        return []
    said = [f"{name} in {', '.join(parts)}" for name, parts in list(rare.items())[:MOST_NAMED]]
    more = f"; and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
    return [f"some classes have fewer than {LEAST_OF_CLASS} graphs in a part: {'; '.join(said)}{more}"]


def _alike_classes(task: Task) -> list[str]:
    """A warning if names of classes differ in capitals and white space alone."""
    alike: dict[str, list[str]] = {}
    for name in class_names(task):
        alike.setdefault("".join(name.lower().split()), []).append(shown(name))
    return [f"{' and '.join(names)} are taken for different classes" for names in alike.values() if len(names) > 1]


def _odd_numbers(dataset: Dataset) -> Iterator[str]:
    """Warnings of targets that a model of numbers can hardly learn as they are."""
    if dataset.task.loss != "l1":
        return
    for number, column in enumerate(dataset.y.astype(np.float64).T):
        values = column[~np.isnan(column)]
        name = _name(dataset, number)
        if dataset.task.outputs > 1 and len(values) and np.isin(values, (0, 1)).all():
            yield (
                f"{name} holds 0 and 1 alone but is fitted as a number, because another target is one; for its "
                "probability, fit it without targets of numbers"
            )
        elif len(values) >= FEW and len(kinds := np.unique(values)) == 2 and not np.isin(kinds, (0, 1)).all():
            yield (
                f"{name} has two values alone, {kinds[0]:g} and {kinds[1]:g}, but is fitted as a number; if they are "
                "classes, choose --task classification"
            )
        elif len(values) >= FEW:
            yield from _uneven(name, values)


def _uneven(name: str, values: Array) -> Iterator[str]:
    """A warning if few values are so far from all others that these look equal beside them."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    if low < high and values.std() * MIDDLE_HALF > UNEVEN * (high - low):
        farthest = values[np.abs(values - middle).argmax()]
        mend = "fit the logarithm" if values.min() > 0 else "leave such values out"
        yield (
            f"half of the values of {name} lie between {low:.4g} and {high:.4g}, but one is {farthest:.4g}; such "
            f"values rule the scale of the training and the error, so look for wrong units, or {mend}"
        )


def _class_counts(y: Array, task: Task) -> Iterator[tuple[str, int]]:
    """Each class, or each value of each label, and how many of the graphs have it.

    Args:
        y: Targets of the graphs, [g, C].
        task: What they are.
    """
    for number, name in enumerate(class_names(task)):
        yield f"class {shown(name)}", int((y == number).sum())
    if task.loss == "binary_cross_entropy":
        names = task.targets or [f"label {column}" for column in range(task.outputs)]
        for name, labels in zip(names, y.T, strict=True):
            for value in (0, 1):
                yield f"{name} = {value}", int((labels == value).sum())


def _are(graphs: int) -> str:
    return "1 graph has" if graphs == 1 else f"{graphs} graphs have"
