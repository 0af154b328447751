from itertools import permutations

import numpy as np
import pytest

from pfgnn.graphs import SearchResult
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.search_result import exchanges, move_of


def of(rows: IntArray) -> SearchResult:
    """A search that found the exchanges of the rows, among the vertices up to 9."""
    return SearchResult(np.arange(10), tuple(exchanges(rows)), 1, 0)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_exchanges_generate_all_permutations_of_the_rows(count: int) -> None:
    rows = np.array([[5, 1], [0, 3], [8, 6], [2, 9]])[:count]
    known = {tuple(range(10))}
    for _ in range(10):
        known |= {tuple(g[list(p)].tolist()) for p in known for g in of(rows).generators}
    expected = set()
    for order in permutations(range(count)):
        images = np.arange(10)
        images[rows] = rows[list(order)]
        expected.add(tuple(images.tolist()))
    assert known == expected


def test_orbits_name_their_least_vertex() -> None:
    assert of(np.array([[5, 1], [3, 4], [8, 6]])).orbits.tolist() == [0, 1, 2, 3, 1, 3, 1, 7, 3, 9]
    assert of(np.array([[5, 1]])).orbits.tolist() == list(range(10))


def test_a_move_tells_only_what_is_moved() -> None:
    vertices, images = move_of(np.array([0, 3, 2, 1]))
    assert vertices.tolist() == [1, 3]
    assert images.tolist() == [3, 1]
    assert move_of(np.arange(3)).vertices.size == 0
