import numpy as np

from pfgnn.graphs.arrays import least_connected, pairs_at, ranges, rank_rows, run_starts


def test_ranges_concatenates_and_allows_empty_ones() -> None:
    assert ranges(np.array([5, 9, 2]), np.array([2, 0, 3])).tolist() == [5, 6, 2, 3, 4]
    assert ranges(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)).size == 0


def test_run_starts_reads_columns_as_rows() -> None:
    assert run_starts(np.array([1, 1, 1, 2]), np.array([0, 0, 3, 3])).tolist() == [0, 2, 3]
    assert run_starts(np.zeros(0)).size == 0


def test_rank_rows_sorts_by_the_first_column_first() -> None:
    rows = np.array([[1, 0], [0, 9], [1, 0], [0, 2]])
    assert rank_rows(rows).tolist() == [2, 1, 2, 0]
    assert rank_rows(np.array([[0.0], [-0.0], [1e-300]])).tolist() == [0, 0, 1]
    assert rank_rows(np.zeros((3, 0))).tolist() == [0, 0, 0]


def test_pairs_at_inverts_the_triangular_index() -> None:
    place = np.concatenate([np.arange(5000), np.arange(10**15, 10**15 + 1000)])
    u, v = pairs_at(place)
    assert ((u >= 0) & (u < v)).all()
    assert np.array_equal(v * (v - 1) // 2 + u, place)


def test_least_connected_follows_pairs_in_both_directions() -> None:
    assert least_connected(6, np.array([[4, 3], [1, 4], [5, 2]])).tolist() == [0, 1, 2, 1, 1, 2]
    assert least_connected(3, np.zeros((0, 2), dtype=np.int64)).tolist() == [0, 1, 2]
