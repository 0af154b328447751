"""Split a dataset into parts: at random, in folds or by scaffold, with optional stratification and groups."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.undirected import undirected
from pfgnn.errors import InputError, InputTypeError
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.canonical import certificate
from pfgnn.graphs.fingerprint import fingerprints

PARTS = ("train", "validation", "test")
FRACTIONS = (0.8, 0.1, 0.1)

Splits = dict[str, IntArray]


def random_split(
    count: int,
    sizes: Sequence[float] = FRACTIONS,
    seed: int = 0,
    labels: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
) -> Splits:
    """Split at random into train, validation and test.

    Args:
        count: Number of graphs G.
        sizes: Sizes of the three parts: integers that add up to G, or fractions that add up to 1.
        seed: Seed of the random draw.
        labels: Class of each graph, integers, shape [G]. Each class is divided in the same proportions, up to rounding.
        groups: Group of each graph, integers, shape [G]. Graphs of one group stay together, see
            :func:`duplicate_groups`. A part may then exceed its size, by less than the size of the largest group. The
            class of a group is the class of its first graph.
    """
    return _parts(_deal(count, _sizes(count, sizes), seed, labels, groups))


def k_folds(
    count: int,
    folds: int,
    seed: int = 0,
    labels: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
) -> Splits:
    """Split at random into folds: fold i tests on block i, validates on block i + 1 and trains on the others.

    Args:
        count: Number of graphs G.
        folds: Number of folds, at least 3.
        seed: Seed of the random draw.
        labels: Class of each graph, as for :func:`random_split`.
        groups: Group of each graph, as for :func:`random_split`.
    """
    if not 3 <= folds <= count:
        raise InputError(f"folds must lie in 3..{count} for {count} graphs, but it is {folds}")
    sizes = [(count + fold) // folds for fold in reversed(range(folds))]  # the first blocks may have one graph more
    block = _deal(count, sizes, seed, labels, groups)
    splits: Splits = {}
    for fold in range(folds):
        role = (fold - block) % folds  # 0 for the test block, folds - 1 for the validation block
        part = np.select([role == 0, role == folds - 1], [2, 1], 0)
        splits |= {f"fold {fold} {name}": graphs for name, graphs in _parts(part).items()}
    return splits


def scaffold_split(scaffolds: Sequence[str], fractions: Sequence[float] = FRACTIONS) -> Splits:
    """Split so that molecules of one scaffold stay together, as OGB and MoleculeNet do. The split is not random.

    The scaffolds are sorted by their number of molecules, largest first. If two have equally many, the one whose first
    molecule comes later is taken first. All molecules of a scaffold go to train if train has room for them. Otherwise
    they go to validation if train and validation together have room, and else to test.

    Args:
        scaffolds: Scaffold of each molecule, such as :func:`pfgnn.data.molecules.scaffold` gives.
        fractions: Fractions of the three parts, which add up to 1.
    """
    count = len(scaffolds)
    _sizes(count, [float(fraction) for fraction in fractions])
    members: dict[str, list[int]] = {}
    for number, scaffold in enumerate(scaffolds):
        members.setdefault(scaffold, []).append(number)
    room_to_train = fractions[0] * count
    room_to_learn = (fractions[0] + fractions[1]) * count
    filled = [0, 0, 0]
    part = np.zeros(count, dtype=np.int64)
    for graphs in sorted(members.values(), key=lambda graphs: (len(graphs), graphs[0]), reverse=True):
        if filled[0] + len(graphs) <= room_to_train:
            chosen = 0
        else:
            chosen = 1 if filled[0] + filled[1] + len(graphs) <= room_to_learn else 2
        filled[chosen] += len(graphs)
        part[graphs] = chosen
    return _parts(part)


def duplicate_groups(dataset: Dataset) -> IntArray:
    """For each graph, the smallest number of a graph that is equal to it, int64 [G].

    Graphs are equal if they are isomorphic, with equal features of nodes and edges. Positions and targets are ignored.
    The graphs must be undirected, without loops and double edges.
    """
    _, bucket, sizes = np.unique(fingerprints(*undirected(dataset)).graphs, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(sizes[bucket] > 1)
    groups = np.arange(len(dataset))
    least: dict[bytes, int] = {}
    for number in alike.tolist():
        groups[number] = least.setdefault(certificate(dataset.graph(number)), number)
    return groups


def _parts(part: IntArray) -> Splits:
    """The graph numbers of each part, ascending, from each graph's part [G]."""
    return {name: np.flatnonzero(part == number) for number, name in enumerate(PARTS)}


def _sizes(count: int, sizes: Sequence[float]) -> list[int]:
    """Sizes as integers. If fractions are given, their cumulative sums times ``count`` are rounded."""
    whole = all(isinstance(size, int | np.integer) for size in sizes)
    total = count if whole else 1
    if len(sizes) != len(PARTS) or min(sizes) < 0 or not np.isclose(sum(sizes), total, rtol=0, atol=1e-9):
        kind = "sizes" if whole else "fractions"
        raise InputError(f"{kind} must be {len(PARTS)} numbers from 0 that add up to {total}, but they are {sizes}")
    if whole:
        return [int(size) for size in sizes]
    ends = np.rint(np.cumsum(sizes) * count).astype(np.int64)
    return np.diff(ends, prepend=0).tolist()


def _deal(
    count: int, sizes: Sequence[int], seed: int, labels: npt.ArrayLike | None, groups: npt.ArrayLike | None
) -> IntArray:
    """Assign whole groups to parts, class by class.

    Each group goes to the part that is furthest below its share of the graphs assigned so far. Within a class the
    larger groups come first, and groups of equal size are in random order. A part with too little room gets a group
    only if no part has enough room. So the parts have their exact sizes if every group is one graph.

    Args:
        count: Number of graphs G.
        sizes: Sizes of the parts, which add up to ``count``.
        seed: Seed of the random draw.
        labels: Class of each graph, as for :func:`random_split`.
        groups: Group of each graph, as for :func:`random_split`.

    Returns:
        The part of each graph, shape [G].
    """
    if labels is None and groups is None:  # the same in less time and memory
        parts = np.empty(count, dtype=np.int64)
        parts[np.random.default_rng(seed).permutation(count)] = np.fromiter(_deal_singly(sizes), np.int64, count)
        return parts
    group = np.arange(count) if groups is None else _checked("groups", groups, count)
    label = np.zeros(count, dtype=np.int64) if labels is None else _checked("labels", labels, count)
    _, first, of, weight = np.unique(group, return_index=True, return_inverse=True, return_counts=True)
    shuffled = np.random.default_rng(seed).permutation(len(first))
    order = shuffled[np.lexsort((-weight[shuffled], label[first[shuffled]]))]
    size = np.array(sizes)
    room = size.copy()
    chosen = np.zeros(len(first), dtype=np.int64)
    dealt = 0
    for unit, graphs in zip(order.tolist(), weight[order].tolist(), strict=True):
        dealt += graphs
        lag = size * dealt / count - (size - room)
        fits = room >= graphs
        part = np.where(fits, lag, -np.inf).argmax() if fits.any() else room.argmax()
        chosen[unit] = part
        room[part] -= graphs
    if ((room == size) & (size > 0)).any():
        raise InputError(f"groups has {len(first)} groups, which are too few to give every part a graph")
    return chosen[of]


def _deal_singly(sizes: Sequence[int]) -> Iterator[int]:
    """The parts that :func:`_deal` gives to one graph after another, if every graph is a group and has one class."""
    count, places = sum(sizes), range(len(sizes))
    filled = [0] * len(sizes)
    for dealt in range(1, count + 1):
        free = [place for place in places if filled[place] < sizes[place]]
        part = max(free, key=lambda place: sizes[place] * dealt / count - filled[place])
        filled[part] += 1
        yield part


def _checked(name: str, values: npt.ArrayLike, count: int) -> Array:
    array = np.asarray(values)
    if array.shape != (count,):
        raise InputError(f"{name} must have shape [{count}], one entry a graph, but it has {list(array.shape)}")
    if array.dtype.kind not in "iub":
        raise InputTypeError(f"{name} must hold integers, but it has dtype {array.dtype}")
    return array
