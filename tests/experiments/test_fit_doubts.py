"""What fit warns of before it trains."""

from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.test_fit import single_vertices

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.experiments.fit_doubts import doubts, unused_parts
from pfgnn.experiments.intervals import wilson
from pfgnn.experiments.prediction_table import Columns


def parts(dataset: Dataset, *sizes: int) -> Dataset:
    """The dataset with consecutive parts of these sizes."""
    names = ("train", "validation", "calibration", "test")
    ends = np.cumsum(sizes)
    cut = {name: np.arange(end - size, end) for name, size, end in zip(names, sizes, ends, strict=True)}
    return replace(dataset, splits=cut)


def test_nothing_is_said_of_enough_graphs() -> None:
    assert doubts(parts(single_vertices(60), 30, 10, 10, 10)) == []


def test_few_graphs() -> None:
    few, calibration = doubts(parts(single_vertices(12), 6, 2, 2, 2))
    assert few == "only 12 graphs have a target; with fewer than 20, the test says little"
    assert calibration.startswith(
        "intervals that hold 90 % of the true values need 9 graphs for calibration, but there"
    )
    assert "there is 1; give more" in doubts(parts(single_vertices(50), 47, 1, 1, 1))[0]


def test_parts_that_are_not_used() -> None:
    rows = [("train", "train", "a", "1"), ("TEST", "", "test", "2"), ("", "train", "train", "3"), ("valid", "", "", "")]
    [said] = unused_parts(Columns(("my split", "no test", "other words", "id"), rows))
    assert said == "column 'my split' names parts, but they are drawn anew; use them with --split-column 'my split'"


def test_graphs_without_a_target() -> None:
    dataset = parts(single_vertices(60), 30, 10, 10, 9)
    y = dataset.y.copy()
    y[59] = np.nan
    assert doubts(replace(dataset, y=y)) == ["1 graph has no target and is left out"]


def test_rare_classes() -> None:
    y = np.array([[0]] * 57 + [[1]] * 3)
    task = Task("graph", 2, "cross_entropy", "accuracy", ("no", "yes"))
    [said] = doubts(parts(replace(single_vertices(60), y=y, task=task), 30, 10, 10, 10))
    assert said == "some classes have fewer than 2 graphs in a part: class 'yes' in train, validation, calibration"


def test_rare_labels() -> None:
    """A value that is unknown is neither of the two."""
    y = np.zeros((60, 2))
    y[::2] = 1
    y[50:58, 1] = np.nan
    task = Task("graph", 2, "binary_cross_entropy", "roc_auc", ("a", "b"))
    [said] = doubts(parts(replace(single_vertices(60), y=y, task=task), 30, 10, 10, 10))
    assert said == "some classes have fewer than 2 graphs in a part: b = 0 in test; b = 1 in test"


def test_classes_whose_names_look_alike() -> None:
    y = np.array([[number % 3] for number in range(60)])
    task = Task("graph", 3, "cross_entropy", "accuracy", ("No", "no ", "yes"))
    [said] = doubts(parts(replace(single_vertices(60), y=y, task=task), 30, 10, 10, 10))
    assert said == "'No' and 'no ' are taken for different classes"


def test_a_label_among_numbers() -> None:
    """Zero and one are no classes if another target is a number. A constant is then nearly always right."""
    y = np.stack([np.arange(60) % 2, np.arange(60)], axis=1).astype(np.float64)
    y[7, 0] = np.nan
    task = Task("graph", 2, "l1", "mae", ("toxic", "logp"))
    [said] = doubts(parts(replace(single_vertices(60), y=y, task=task), 30, 10, 10, 10))
    assert said.startswith("toxic holds 0 and 1 alone but is fitted as a number")
    task = Task("graph", 1, "l1", "mae", ("toxic",))  # the user chose a regression
    assert doubts(parts(replace(single_vertices(60), y=y[:, :1], task=task), 30, 10, 10, 10))[1:] == []


def test_two_numbers_that_may_be_classes() -> None:
    y = np.where(np.arange(60) % 3, -1.0, 1.0)[:, None]
    task = Task("graph", 1, "l1", "mae", ("active",))
    [said] = doubts(parts(replace(single_vertices(60), y=y, task=task), 30, 10, 10, 10))
    assert said == (
        "active has two values alone, -1 and 1, but is fitted as a number; if they are classes, choose --task "
        "classification"
    )


@pytest.mark.parametrize(("lowest", "mend"), [(1.0, "fit the logarithm"), (-1.0, "leave such values out")])
def test_values_far_from_all_others(lowest: float, mend: str) -> None:
    y = np.arange(60, dtype=np.float64)[:, None]
    y[0], y[30] = lowest, 1e6
    task = Task("graph", 1, "l1", "mae", ("IC50",))
    [said] = doubts(parts(replace(single_vertices(60), y=y, task=task), 30, 10, 10, 10))
    assert said == (
        "half of the values of IC50 lie between 14.75 and 45.25, but one is 1e+06; such values rule the scale of the "
        f"training and the error, so look for wrong units, or {mend}"
    )


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
def test_uneven_values_that_can_be_learned(power: float) -> None:
    y = np.linspace(0.1, 10, 60)[:, None] ** power
    task = Task("graph", 1, "l1", "mae", ("logp",))
    assert doubts(parts(replace(single_vertices(60), y=y, task=task), 30, 10, 10, 10)) == []


def test_molecules_in_two_parts() -> None:
    copies = np.arange(60)
    copies[55] = 3
    dataset = replace(single_vertices(60), y=np.ones((60, 1)))
    [said] = doubts(parts(dataset, 30, 10, 10, 10), copies)
    assert said == "1 of 10 test molecules are in the training part too, so the test is too easy"


def test_copies_with_different_targets() -> None:
    """An unknown target differs from none, and two copies with the same target are no conflict."""
    y = np.arange(60, dtype=np.float64)[:, None]
    y[4], y[7] = np.nan, y[6]
    copies = np.arange(60)
    copies[[2, 3, 5, 7]] = 1, 1, 4, 6
    said = doubts(parts(replace(single_vertices(60), y=y), 30, 10, 10, 9), copies)
    assert [one for one in said if "copy" in one] == [
        "3 molecules have a copy with another target, so no model can be right about all of them; give each molecule "
        "one target"
    ]


def test_an_accuracy_of_few_graphs_is_not_certain() -> None:
    """Values of Wilson's formula for 10 of 10, and for 5 of 10."""
    assert wilson(1.0, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
