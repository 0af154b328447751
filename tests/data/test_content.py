"""What the arrays of a dataset hold is checked, however the dataset was made. The graph is named."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data.dataset_samples import DOT, EDGE, NODES, PATH, TASK, Y, example

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.packed import read_packed, write_packed
from pfgnn.data.task import Task

CLASSES = Task("graph", 2, "cross_entropy", "accuracy")
LABELS = Task("graph", 1, "binary_cross_entropy", "roc_auc")


def filled(rows: int, columns: int, row: int, column: int, value: float) -> Array:
    """Zeros, but for one value."""
    array = np.zeros((rows, columns), dtype=np.int64 if isinstance(value, int) else np.float64)
    array[row, column] = value
    return array


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"pairs": np.array([0, 1])}, r"pairs must have shape \[P, 2\], but it has \[2\]"),
        ({"edge_counts": np.array([4, 3, -1])}, "edge_counts must be at least 0, but that of graph 2 is negative"),
        ({"edges": np.array([[1, 2, 0, 1, 1, 0], [0, 1, 1, 2, 0, 1]])}, "edges must be sorted .* of graph 0 are not"),
        ({"edges": np.array([[1, 0, 2, 1, 0, 1], [0, 1, 1, 2, 1, 0]])}, "edges must be sorted .* of graph 1 are not"),
        (
            {"edges": np.array([[1, 0, 2, 1, 1, 0], [0, 1, 1, 2, 0, 2]])},
            r"edges must join nodes 0..1 in graph 1, .*\(0, 2",
        ),
        ({"x": np.full((6, 2), 2)}, "x column 0 must lie in 0..1, but graph 0 has 2 there"),
        ({"x": filled(6, 2, 4, 1, -1)}, "x column 1 must lie in 0..2, but graph 1 has -1 there"),
        ({"x": filled(6, 2, 5, 1, math.nan), "node_categories": None}, "x must be finite, but graph 2 has nan"),
        ({"pos": filled(6, 3, 3, 0, -math.inf)}, "pos must be finite, but graph 1 has -inf"),
        ({"edge_attr": filled(6, 1, 5, 0, math.nan), "edge_categories": None}, "edge_attr must be .* graph 1 has nan"),
        ({"y": filled(3, 2, 1, 0, math.inf)}, "y must be finite, or NaN if unknown, but graph 1 has inf"),
        ({"y": Y[:, :1]}, r"y must have shape \[3, 2\] for this task, but it has \[3, 1\]"),
        ({"y": filled(6, 1, 4, 0, 2), "task": NODES}, r"y must be a class in 0..1, but graph 1 has 2"),
        ({"y": filled(6, 1, 5, 0, 0.5), "task": NODES}, r"y must be a class in 0..1, but graph 2 has 0.5"),
        ({"y": filled(3, 1, 2, 0, -1), "task": LABELS}, r"y must be a label in 0..1, but graph 2 has -1"),
    ],
)
def test_values_that_do_not_fit_get_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        example(**changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"x": np.zeros((6, 2))}, "x must hold category numbers \\(int\\), but it has dtype float64"),
        ({"x": np.full((6, 2), "a"), "node_categories": None}, "x must hold numbers, but it has dtype <U1"),
        ({"y": np.full((3, 2), None)}, "y must hold numbers, but it has dtype object"),
        ({"edges": np.zeros((2, 6))}, "edges must hold integers, but it has dtype float64"),
        ({"key": np.zeros(3)}, "key must hold integers, but it has dtype float64"),
    ],
)
def test_arrays_of_the_wrong_kind_get_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        example(**changes)


def test_targets_may_be_unknown() -> None:
    y = np.array([[0.5, math.nan], [math.nan, math.nan], [1.5, 2.0]])
    np.testing.assert_array_equal(Dataset.from_graphs([PATH, EDGE, DOT], y, TASK).y, y)
    classes = np.array([[0.0], [math.nan], [1.0]])
    np.testing.assert_array_equal(Dataset.from_graphs([PATH, EDGE, DOT], classes, CLASSES)[1:].y, classes[1:])
    assert Dataset.from_graphs([PATH, EDGE, DOT], classes, CLASSES)[1].y.isnan().all()  # alone it may have none


def test_a_packed_file_is_checked_too(tmp_path: Path) -> None:
    """Its checksums say that it is whole, but not that a model can use it."""
    example(x=np.ones((6, 2)), node_categories=None).save(tmp_path / "good.pfgnn")
    arrays, meta = read_packed(tmp_path / "good.pfgnn")
    x = arrays["x"].copy()
    x[4] = math.nan
    write_packed(tmp_path / "bad.pfgnn", {**arrays, "x": x}, meta)
    with pytest.raises(ValueError, match="x must be finite, but graph 1 has nan"):
        Dataset.open(tmp_path / "bad.pfgnn")
