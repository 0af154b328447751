"""The parts that `fit` divides its graphs into: train, validation, calibration and test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pfgnn.argument_checks import check_number
from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import Shards
from pfgnn.data.splits import random_split, scaffold_split
from pfgnn.data.task import CLASS_LOSSES
from pfgnn.errors import InputError, InputTypeError, counted, shown
from pfgnn.graphs.arrays import BoolArray, IntArray
from pfgnn.graphs.smiles import parse_smiles, rdkit_modules

LEAST, MOST = 10, 10_000  # graphs of a part whose share is not given; a coverage of 0.9 needs 9 for calibration
FEWEST_GROUPS = 5  # different molecules for each part; with fewer, copies are drawn as if they were different
SPLITS = ("random", "scaffold")
SMALLEST, LARGEST = 1e-100, 1e100  # between values of a target, whose squares must be numbers too
CALIBRATION = "calibration"

Parts = dict[str, IntArray]


@dataclass(frozen=True)
class Shares:
    """The shares of the parts. What is left is for training.

    A share of None follows from the number of graphs: a tenth, but at least 10 graphs unless that is more than a fifth
    of all, and at most 10,000.

    Args:
        validation: Share of the graphs on which the best weights are selected; 0 to keep the last weights.
        calibration: Share of the graphs on which intervals and probabilities are calibrated; 0 for none.
        test: Share of the graphs that are tested once, at the end; 0 for none.
    """

    validation: float | None = None
    calibration: float | None = None
    test: float | None = 0.0

    def sizes(self, graphs: int) -> dict[str, int]:
        """The number of graphs of each part, train first."""
        sizes = {}
        for name in ("validation", CALIBRATION, "test"):
            share = getattr(self, name)
            if share is None:
                sizes[name] = min(max(graphs // 10, min(graphs // 5, LEAST), 1), MOST)
            elif not 0 <= check_number(f"{name}_fraction", share) < 1:
                raise InputError(f"{name}_fraction must be at least 0 and below 1, but it is {shown(share)}")
            else:
                sizes[name] = max(round(share * graphs), 1) if share else 0
        train = graphs - sum(sizes.values())
        if train < 2:
            rest = ", ".join(f"{size} for {name}" for name, size in sizes.items() if size)
            raise InputError(
                f"there must be at least 2 graphs to train on, but of {graphs} graphs with a target {max(train, 0)} "
                f"are left after {rest or 'no other part'}; give more graphs, or smaller fractions"
            )
        return {"train": train, **sizes}


def make_parts(
    dataset: Dataset | Shards,
    shares: Shares,
    seed: int,
    *,
    weights: Array | None = None,
    scaffolds: Sequence[str] | None = None,
    known: Mapping[str, BoolArray] | None = None,
    copies: IntArray | None = None,
) -> Parts:
    """Divide the graphs into parts. Graphs without a known target or with weight 0 are in none.

    Classes are divided in equal proportions.

    Args:
        dataset: The graphs.
        shares: Sizes of the parts.
        seed: Seed of the draw.
        weights: Weight of each graph in the training, [G]; None if all are equal.
        scaffolds: Scaffold of each molecule. Then no scaffold is both in train and in another part, nor in test and in
            another part.
        known: For each part of earlier fits, whether each graph was in it, [G]. Such a graph stays there, or is trained
            on if there is no such part any more. The other graphs are divided by the shares.
        copies: For each graph the number of the first one that is the same molecule, [G]. Copies stay in one part, if
            there are enough different molecules.
    """
    usable: BoolArray = np.asarray(~np.isnan(dataset.y).all(1))
    if weights is not None:
        usable &= weights > 0
    sizes = shares.sizes(int(usable.sum()))
    kept = _kept(usable, sizes, known or {})
    graphs = np.flatnonzero(usable)
    if known:
        graphs = np.setdiff1d(graphs, np.concatenate(list(kept.values())))
    ends = np.cumsum(list(sizes.values())) * len(graphs) / sum(sizes.values())
    train, validation, calibration, test = np.diff(np.rint(ends).astype(np.int64), prepend=0).tolist()
    held = validation + calibration
    if scaffolds is not None:
        fractions = np.array([train, held, test]) / len(graphs)
        found = scaffold_split([scaffolds[graph] for graph in graphs.tolist()], fractions.tolist())
    else:
        labels = _classes(dataset, graphs)
        groups = _groups(copies, graphs, parts=4)
        found = random_split(len(graphs), [train, held, test], seed, labels=labels, groups=groups)
    middle, numbers = found["validation"], graphs
    share = validation / held if held else 0.0
    first = round(share * len(middle))
    of_middle = graphs[middle]
    inner = random_split(
        len(middle),
        [first, len(middle) - first, 0],
        seed + 1,
        labels=_classes(dataset, of_middle),
        groups=_groups(copies, of_middle, parts=2),
    )
    parts = {
        "train": numbers[found["train"]],
        "validation": numbers[middle[inner["train"]]],
        CALIBRATION: numbers[middle[inner["validation"]]],
        "test": numbers[found["test"]],
    }
    parts = {name: np.concatenate([kept[name], part]) if name in kept else part for name, part in parts.items()}
    for name, size in sizes.items():
        if size and not len(parts[name]):
            raise InputError(_why_empty(name, known is not None))
    return {name: part for name, part in parts.items() if sizes[name]}


def _kept(usable: BoolArray, sizes: Mapping[str, int], known: Mapping[str, BoolArray]) -> Parts:
    """The numbers of the graphs that stay in the parts that they were in before."""
    found: Parts = {}
    for name, was in known.items():
        stays = name if sizes.get(name) else "train"
        found[stays] = np.concatenate([found.get(stays, np.zeros(0, dtype=np.int64)), np.flatnonzero(usable & was)])
    return found


def _why_empty(part: str, warm: bool) -> str:
    """The message if a part has no graph.

    Args:
        part: Name of the part.
        warm: Whether some graphs had to stay in the parts of an earlier fit.
    """
    if not warm:
        return f"the part {part} would have no graph, because a few scaffolds hold most; split at random"
    if part == "train":
        return (
            "the part train must have a graph, but a warm start holds out all of these, as the fits before did; "
            "give other graphs too, or set warm_start=False"
        )
    without = "early_stopping=False" if part == "validation" else f"{part}_fraction=0"
    return (
        f"the part {part} must have graphs that no fit before was trained on, but a warm start finds none; "
        f"give new graphs too, set {without}, or warm_start=False"
    )


def keep_parts(
    dataset: Dataset | Shards,
    splits: Mapping[str, Array],
    shares: Shares,
    seed: int,
    copies: IntArray | None = None,
) -> Parts:
    """The parts of a dataset that has some. What is missing of the others is drawn from its training part.

    Args:
        dataset: The graphs.
        splits: Its parts, which have "train" and "test".
        shares: ``calibration``, and ``validation`` if there is no such part, are shares of the training part.
        seed: Seed of the draw.
        copies: See :func:`make_parts`. What is drawn has no copy in the training part.
    """
    known: Array = np.asarray(~np.isnan(dataset.y).all(1))
    parts = {name: splits[name][known[splits[name]]] for name in ("train", "validation", "test") if name in splits}
    for name, graphs in parts.items():
        if not len(graphs):
            what = f"none of its {counted(len(splits[name]), 'graph')} has one" if len(splits[name]) else "it is empty"
            raise InputError(f"the part {name} must have a graph with a target, but {what}")
    train = parts["train"]
    validation = 0.0 if "validation" in parts else shares.validation
    size = Shares(validation, shares.calibration, 0.0).sizes(len(train))
    sizes = [size["train"], size[CALIBRATION], size["validation"]]
    groups = _groups(np.arange(len(dataset)) if copies is None else copies, train, parts=3)
    drawn = random_split(len(train), sizes, seed, labels=_classes(dataset, train), groups=groups)
    kept = {"validation": train[drawn["test"]], **parts}
    kept |= {"train": train[drawn["train"]], CALIBRATION: train[drawn["validation"]]}
    return {name: kept[name] for name in ("train", "validation", CALIBRATION, "test") if len(kept[name])}


def same_molecules(smiles: Sequence[str]) -> IntArray | None:
    """For each molecule the number of the first one that is the same, [G]; None if there are no SMILES.

    Molecules are the same if RDKit writes the same canonical SMILES for them.
    """
    if not smiles:
        return None
    chem, _ = rdkit_modules()
    first: dict[str, int] = {}
    return np.array([first.setdefault(chem.MolToSmiles(parse_smiles(text)), n) for n, text in enumerate(smiles)])


def _groups(copies: IntArray | None, graphs: IntArray, parts: int) -> IntArray | None:
    """The groups of graphs that stay together; None if each is alone, or if there are too few groups for the parts."""
    if copies is None:
        return None
    groups = copies[graphs]
    different = len(np.unique(groups))
    return groups if FEWEST_GROUPS * parts <= different < len(groups) else None


def _classes(dataset: Dataset | Shards, graphs: IntArray) -> IntArray | None:
    """The classes that are divided in equal proportions, [g]; None if the targets are numbers.

    With several labels of 0 and 1, the class of a graph is the rarest label that it has, or that it has none.

    Args:
        dataset: The graphs with their targets.
        graphs: Numbers of g graphs.
    """
    if dataset.task.loss == "l1" or not len(graphs):
        return None
    if dataset.task.loss in CLASS_LOSSES:
        return dataset.y[graphs, 0].astype(np.int64)
    has = dataset.y[graphs] > 0  # not where it is unknown
    rarity = np.where(has, has.sum(0), len(graphs))
    return np.where(has.any(1), rarity.argmin(1), has.shape[1])


def check_weights(
    weights: npt.ArrayLike | None, graphs: int, train: IntArray | None = None, name: str = "sample_weight"
) -> Array | None:
    """Weights as an array [G], or None if all are equal.

    Raises an InputError unless all are finite, not negative, and some are above 0.

    Args:
        weights: What the user gave: a weight of each graph, or one number for all, or None.
        graphs: G, number of graphs.
        train: Numbers of the training graphs; None for all.
        name: Name of the argument, for the message.
    """
    if weights is None:
        return None
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must hold numbers, but it is {shown(weights)}") from None
    if array.ndim == 0:
        array = np.full(graphs, array)
    if array.ndim != 1 or len(array) != graphs:
        raise InputError(
            f"{name} must have one number for each of {graphs} graphs, but it has shape {list(array.shape)}"
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError(f"{name} must hold finite numbers from 0, but it does not")
    if not array[slice(None) if train is None else train].any():
        raise InputError(f"{name} must have a weight above 0, but all are zero")
    return None if (array == array[0]).all() else array


def check_known(dataset: Dataset, parts: Parts) -> None:
    """Raise an InputError if a part that is needed for training has no known value of a target."""
    for name in ("train", "validation"):
        unknown = np.isnan(dataset.y[parts[name]]).all(0) if name in parts else np.zeros(1, dtype=bool)
        if unknown.any():
            column = int(unknown.argmax())
            known = int((~np.isnan(dataset.y[:, column])).sum())
            raise InputError(
                f"{_target(dataset, column)} must have a known value in each part, but the part {name} has none: only "
                f"{known} of {len(dataset)} graphs have one (empty values do not count); give more, or larger fractions"
            )


def _target(dataset: Dataset, column: int) -> str:
    """How a message names a target."""
    if dataset.y.shape[1] == 1:
        return "the target"
    names = dataset.task.targets
    return f"target {names[column] if len(names) == dataset.y.shape[1] else column}"


def check_targets(dataset: Dataset) -> None:
    """Raise an InputError unless a model can be fitted to the targets."""
    task = dataset.task
    if task.level != "graph" or task.loss == "none":
        raise InputError(
            f"{dataset.name} must have a target for each graph to be fitted, but its task is at {task.level} level; "
            "`pfgnn train` trains such tasks"
        )
    for column, values in enumerate(dataset.y.T):
        known = values[~np.isnan(values)]
        name = _target(dataset, column)
        if not len(known):
            raise InputError(f"{name} must have a known value in some graph, but it has none")
        if (known == known[0]).all():
            what = "class" if task.loss != "l1" else "value"
            raise InputError(
                f"{name} must have at least 2 different values, but every graph has the {what} {known[0]:g}"
            )
        if task.loss == "l1" and not SMALLEST < (widest := float(known.max()) - float(known.min())) < LARGEST:
            raise InputError(
                f"{name} must have values that differ by more than {SMALLEST:g} and less than {LARGEST:g}, but they "
                f"differ by {widest:g}; multiply them by a number"
            )
    if task.loss in CLASS_LOSSES:
        counts = np.bincount(dataset.y[~np.isnan(dataset.y)].astype(np.int64), minlength=task.outputs)
        if (counts == 0).any():
            absent = int(counts.argmin())
            name = shown(task.targets[absent]) if len(task.targets) == task.outputs else str(absent)
            raise InputError(f"each class must have at least one graph, but class {name} has none")
