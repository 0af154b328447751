"""Encodings by walks around rings: against a count one by one, under relabelling, where numbers grow large."""

import numpy as np
import pytest
from tests.data.encoding_samples import CASES, Edges, both, dataset, features
from tests.training.training_samples import graphs

from pfgnn.data.arrays import Array
from pfgnn.data.encodings import count_ring_walks, encode_nodes, ring_walks


def never_back(n: int, edges: Edges, length: int) -> Array:
    """The closed walks of k = 3..length steps without a step straight back, one by one, as log(1 + c_k)."""
    near = [{j for i, j in both(edges) if i == node != j} for node in range(n)]
    found = np.zeros((n, length - 2))
    for node in range(n):
        walks = [(node, there) for there in near[node]]
        for k in range(2, length + 1):
            walks = [(last, there) for before, last in walks for there in near[last] - {before}]
            if k > 2:
                found[node, k - 3] = sum(last == node for _, last in walks)
    return np.log1p(found)


@pytest.mark.parametrize("case", CASES)
def test_walks_around_rings_one_by_one(case: str) -> None:
    found = features(ring_walks(dataset([CASES[case]]), 9))
    np.testing.assert_allclose(found, never_back(*CASES[case], 9), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_walks_around_rings_of_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, edges = 12, [(int(i), int(j)) for i, j in rng.integers(0, 12, (16, 2))]
    found = encode_nodes(dataset([(n, edges)]), count_ring_walks, 8)
    np.testing.assert_allclose(found, never_back(n, edges, 8), rtol=1e-6)
    new = rng.permutation(n)
    moved = dataset([(n, [(int(new[i]), int(new[j])) for i, j in edges])])
    assert np.array_equal(encode_nodes(moved, count_ring_walks, 8)[new], found)


def test_a_ring_counts_in_both_directions_and_from_its_tail() -> None:
    hexagon = [(i, (i + 1) % 6) for i in range(6)]
    tailed = (8, both([*hexagon, (0, 6), (6, 7)]))
    found = np.expm1(encode_nodes(dataset([tailed]), count_ring_walks, 10)).round().astype(int)
    assert found[:6, 3].tolist() == [2] * 6  # k = 6
    assert not found[:6, :3].any()
    assert not found[6:, 3].any()
    assert found[6:, [5, 7]].tolist() == [[2, 0], [0, 2]]  # from the tail: to the ring, around it, and home


def test_trees_have_no_walks_around_rings() -> None:
    made = dataset([CASES["path"], CASES["star"], CASES["isolated"]])
    assert not encode_nodes(made, count_ring_walks, 12).any()


def test_walks_too_many_to_count_repeat_the_last_number() -> None:
    """A complete graph of 60 vertices has more than 2^52 of them after nine steps."""
    whole = (60, [(i, j) for i in range(60) for j in range(60) if i != j])
    found = encode_nodes(dataset([whole, CASES["triangle"]]), count_ring_walks, 14)
    assert np.isfinite(found).all()
    assert len(np.unique(found[:60], axis=0)) == 1
    grows = np.diff(found[0]) > 0
    assert grows.any()
    assert grows.tolist() == sorted(grows.tolist(), reverse=True)
    assert not grows[-1]
    assert found[60, [0, 1, 3]].tolist() == pytest.approx([np.log(3), 0, np.log(3)])  # others in the batch go on


@pytest.mark.parametrize("length", [0, 2])
def test_walks_around_rings_have_three_steps(length: int) -> None:
    with pytest.raises(
        ValueError, match=f"length must be at least 3, the steps of the shortest walk, but it is {length}"
    ):
        ring_walks(graphs(3), length)
