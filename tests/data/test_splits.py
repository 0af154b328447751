import csv
import gzip
import pickle
import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import scaffold
from pfgnn.data.splits import Splits, duplicate_groups, k_folds, random_split, scaffold_split
from pfgnn.graphs import Graph, csl, random_graph, rook, shrikhande
from pfgnn.graphs.arrays import IntArray

LABELS = np.repeat([0, 1, 2], [100, 40, 10])


def global_state() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002


def sizes(splits: Splits) -> list[int]:
    return [len(part) for part in splits.values()]


def assert_partition(splits: Splits, count: int) -> None:
    joined = np.concatenate(list(splits.values()))
    assert joined.dtype == np.int64
    assert np.array_equal(np.sort(joined), np.arange(count))


def assert_whole(splits: Splits, groups: IntArray) -> None:
    for left, right in combinations(splits.values(), 2):
        assert not set(groups[left]) & set(groups[right])


def test_random_split_by_sizes_and_fractions() -> None:
    assert list(random_split(10)) == ["train", "validation", "test"]
    assert sizes(random_split(10, (5, 5, 0))) == [5, 5, 0]
    assert sizes(random_split(1001, (0.5, 0.25, 0.25))) == [500, 251, 250]
    assert_partition(random_split(1001), 1001)


@pytest.mark.parametrize("count", [3, 10, 97, 1000])
@pytest.mark.parametrize("fractions", [(0.8, 0.1, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.1, 0.2, 0.7)])
def test_graphs_without_groups_are_dealt_like_groups_of_one(count: int, fractions: tuple[float, ...]) -> None:
    for seed in range(3):
        alone, groups = (random_split(count, fractions, seed, groups=of) for of in (None, np.arange(count)))
        assert {name: part.tolist() for name, part in alone.items()} == {n: part.tolist() for n, part in groups.items()}
    assert str(k_folds(count, 3)) == str(k_folds(count, 3, groups=np.arange(count)))


def test_random_split_depends_on_its_seed_alone() -> None:
    before = global_state()
    first, again, other = random_split(100, seed=1), random_split(100, seed=1), random_split(100, seed=2)
    assert global_state() == before
    assert all(np.array_equal(first[part], again[part]) for part in first)
    assert not np.array_equal(first["test"], other["test"])


def test_every_graph_is_equally_likely_to_be_in_a_part() -> None:
    draws = Counter(int(graph) for seed in range(2000) for graph in random_split(10, seed=seed)["test"])
    assert len(draws) == 10
    assert all(abs(times - 200) < 5 * np.sqrt(200 * 0.9) for times in draws.values())


def test_stratified_split_keeps_the_proportions() -> None:
    splits = random_split(150, labels=LABELS, seed=3)
    assert sizes(splits) == [120, 15, 15]
    assert {part: np.bincount(LABELS[graphs]).tolist() for part, graphs in splits.items()} == {
        "train": [80, 32, 8],
        "validation": [10, 4, 1],
        "test": [10, 4, 1],
    }


@pytest.mark.parametrize("labels", [None, LABELS])
def test_groups_stay_together(labels: IntArray | None) -> None:
    groups = np.random.default_rng(0).integers(0, 60, 150)
    splits = random_split(150, seed=1, labels=labels, groups=groups)
    assert_partition(splits, 150)
    assert_whole(splits, groups)
    largest = int(np.bincount(groups).max())
    assert all(abs(size - wanted) < largest for size, wanted in zip(sizes(splits), (120, 15, 15), strict=True))


def test_five_folds_of_csl() -> None:
    labels = np.repeat(np.arange(10), 15)
    splits = k_folds(150, 5, labels=labels)
    assert list(splits)[:4] == ["fold 0 train", "fold 0 validation", "fold 0 test", "fold 1 train"]
    assert sizes(splits) == [90, 30, 30] * 5
    for fold in range(5):
        parts = {part: splits[f"fold {fold} {part}"] for part in ("train", "validation", "test")}
        assert_partition(parts, 150)
        assert np.array_equal(parts["validation"], splits[f"fold {(fold + 1) % 5} test"])
        assert [np.unique(np.bincount(labels[graphs])).tolist() for graphs in parts.values()] == [[9], [3], [3]]
    assert_partition({name: part for name, part in splits.items() if name.endswith("test")}, 150)


def test_folds_of_uneven_size_and_with_groups() -> None:
    assert [size for name, size in zip(k_folds(11, 3), sizes(k_folds(11, 3)), strict=True) if "test" in name] == [
        4,
        4,
        3,
    ]
    groups = np.arange(30) // 3
    tests = {name: part for name, part in k_folds(30, 5, groups=groups).items() if name.endswith("test")}
    assert sizes(tests) == [6] * 5
    assert_whole(tests, groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": (5, 5)}, r"^sizes must be 3 numbers from 0 that add up to 10, but they are \(5, 5\)$"),
        ({"sizes": (5, 4, 4)}, "that add up to 10"),
        ({"sizes": (11, -1, 0)}, "numbers from 0"),
        ({"sizes": (0.5, 0.4, 0.2)}, "^fractions must be 3 numbers from 0 that add up to 1,"),
        ({"labels": [0] * 9}, r"^labels must have shape \[10\], one entry a graph, but it has \[9\]$"),
        ({"groups": [[0]] * 10}, r"^groups must have shape \[10\], one entry a graph, but it has \[10, 1\]$"),
        ({"groups": [0] * 5 + [1] * 5}, "^groups has 2 groups, which are too few to give every part a graph$"),
    ],
)
def test_wrong_arguments_of_random_split(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        random_split(10, **options)  # type: ignore[arg-type]


def test_wrong_labels_and_folds() -> None:
    with pytest.raises(TypeError, match=r"^labels must hold integers, but it has dtype float64$"):
        random_split(2, labels=[0.5, 1.0])
    with pytest.raises(ValueError, match=r"^folds must lie in 3..10 for 10 graphs, but it is 2$"):
        k_folds(10, 2)


def test_scaffold_split_takes_large_scaffolds_first_and_of_equal_ones_the_last() -> None:
    #                          0    1    2    3    4    5    6    7    8    9
    splits = scaffold_split(["a", "b", "b", "c", "c", "c", "d", "e", "e", "f"], (0.5, 0.3, 0.2))
    # c (3) and e (2) fill train; b (2) and f (1) fill validation; d and a are left.
    assert {part: graphs.tolist() for part, graphs in splits.items()} == {
        "train": [3, 4, 5, 7, 8],
        "validation": [1, 2, 9],
        "test": [0, 6],
    }


def test_scaffold_split_lets_small_scaffolds_fill_the_gaps() -> None:
    splits = scaffold_split([*"aaaa", *"bbb", *"cc", "d"], (0.6, 0.3, 0.1))
    assert [splits[part].tolist() for part in splits] == [[0, 1, 2, 3, 7, 8], [4, 5, 6], [9]]
    with pytest.raises(ValueError, match=r"^fractions must be 3 numbers"):
        scaffold_split(["a"], (1, 1, 1))


@pytest.mark.slow
def test_the_published_split_of_molhiv(data_dir: Path) -> None:
    """What is left by train is divided as published; all 41,127 molecules agree too, but take half a minute."""
    pytest.importorskip("rdkit")
    folder = data_dir / "molhiv"
    if not (folder / "molhiv_graphs.npz").is_file():
        pytest.skip("molhiv is not in the data folder")
    with gzip.open(folder / "molhiv_smiles.csv.gz", "rt") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    with np.load(folder / "molhiv_graphs.npz") as published:
        validation, test = published["valid_idx"], published["test_idx"]
    rest = np.sort(np.concatenate([validation, test]))
    splits = scaffold_split([scaffold_or_itself(smiles[number]) for number in rest], (0.0, 0.5, 0.5))
    assert np.array_equal(rest[splits["validation"]], validation)
    assert np.array_equal(rest[splits["test"]], test)


def scaffold_or_itself(smiles: str) -> str:
    try:
        return scaffold(smiles)
    except ValueError:  # a few molecules that today's RDKit refuses, each with a scaffold of its own
        return smiles


def test_duplicates_are_found_whatever_their_numbering() -> None:
    rng = np.random.default_rng(0)
    graphs = [random_graph(9, 14, rng) for _ in range(20)]
    copies = [graph.relabel(rng.permutation(9)) for graph in graphs]
    groups = duplicate_groups(Dataset.from_graphs(graphs + copies, np.zeros(40)))
    assert np.array_equal(groups, np.tile(np.arange(20), 2))


def test_graphs_that_1_wl_cannot_tell_apart_are_no_duplicates() -> None:
    alike = [rook(4), shrikhande(), csl(13, 2), csl(13, 3), csl(13, 5)]
    assert duplicate_groups(Dataset.from_graphs(alike, np.zeros(5))).tolist() == [0, 1, 2, 3, 4]


def test_features_of_nodes_and_edges_count_but_targets_do_not() -> None:
    def path(x: list[int], edge_attr: list[float]) -> Graph:
        return Graph.from_edges(3, [[0, 1], [1, 2]], [[value] for value in x], [[value] for value in edge_attr])

    graphs = [
        path([1, 0, 0], [0.5, 2.0]),
        path([0, 0, 1], [2.0, 0.5]),
        path([0, 1, 0], [0.5, 2.0]),
        path([1, 0, 0], [2.0, 0.5]),
    ]
    assert duplicate_groups(Dataset.from_graphs(graphs, np.arange(4))).tolist() == [0, 0, 2, 3]


def test_no_duplicate_lies_in_two_parts() -> None:
    rng = np.random.default_rng(1)
    graphs = [random_graph(6, 7, rng) for _ in range(200)]  # of 24 graphs up to isomorphism
    groups = duplicate_groups(Dataset.from_graphs(graphs, np.zeros(200)))
    assert 15 < len(np.unique(groups)) <= 24
    splits = random_split(200, groups=groups)
    assert_partition(splits, 200)
    assert_whole(splits, groups)
