"""The table of predictions: what was given, what is predicted, and what its noise is."""

import csv
import math
from pathlib import Path

import pytest
import torch

from pfgnn.data.task import Task
from pfgnn.experiments.prediction_table import Columns, Predictions, check_names, output_names, written_columns

MEAN, ERROR = torch.tensor([[0.25, 1e9], [1 / 3, -2]]), torch.tensor([[0.5, 0.0], [1.0, 2.0]])


def table(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_each_output_has_its_noise_beside_it(tmp_path: Path) -> None:
    Predictions(MEAN, ERROR, ["a", "b"], torch.tensor([[0, 0], [0, 1]])).write(tmp_path / "table.csv")
    assert table(tmp_path / "table.csv") == [
        ["graph", "node", "a", "a, Monte Carlo standard error", "b", "b, Monte Carlo standard error"],
        ["0", "0", "0.25", "0.5", "1e+09", "0"],
        ["0", "1", "0.3333333", "1", "-2", "2"],
    ]
    Predictions(MEAN, ERROR, ["a", "b"], torch.tensor([[0], [1]])).write(tmp_path / "table.csv")
    assert table(tmp_path / "table.csv")[0][:2] == ["graph", "a"]


def test_an_offset_hides_no_digit(tmp_path: Path) -> None:
    """The targets lie near 10^9 and differ by thousandths, and the other one has no scale."""
    mean = torch.tensor([[1e9 + 0.005806, 1e9 + 0.005806], [math.inf, 1e30]], dtype=torch.float64)
    found = Predictions(mean, torch.full_like(mean, 1e-3), ["a", "b"], torch.tensor([[0], [1]]))
    ends = torch.stack([mean - 0.001, mean + 0.001], -1)
    scaled = found._replace(deviations=torch.tensor([0.004, 0.0]), interval=(ends, 0.9))
    scaled.write(tmp_path / "table.csv")
    _, row, far = table(tmp_path / "table.csv")
    assert row[1:5] == ["1000000000.005806", "0.001", "1000000000.004806", "1000000000.006806"]
    assert row[5:7] == ["1e+09", "0.001"]
    assert far[1:6] == ["inf", "0.001", "inf", "inf", "1e+30"]


def test_the_columns_of_the_input_stand_beside_each_prediction(tmp_path: Path) -> None:
    carried = Columns(["id", "smiles", "logp"], [["ä, b", "CCO", "1"], ["", "CC", 'say "x"']])
    Predictions(MEAN, ERROR, ["a", "b"], torch.tensor([[0], [1]]), carried).write(tmp_path / "table.csv")
    header, *rows = table(tmp_path / "table.csv")
    assert header[:5] == ["graph", "id", "smiles", "logp", "a"]
    assert [row[:5] for row in rows] == [
        ["0", "ä, b", "CCO", "1", "0.25"],
        ["1", "", "CC", 'say "x"', "0.3333333"],
    ]
    Predictions(MEAN, ERROR, ["a", "b"], torch.tensor([[1, 0], [1, 1]]), carried).write(tmp_path / "table.csv")
    assert [row[:4] for row in table(tmp_path / "table.csv")[1:]] == [["1", "0", "", "CC"], ["1", "1", "", "CC"]]


@pytest.mark.parametrize(
    ("task", "names"),
    [
        (Task("graph", 1, "l1", "mae", ("logp",)), ["predicted logp"]),
        (Task("graph", 1, "l1", "mae"), ["predicted target"]),
        (Task("graph", 2, "l1", "mae"), ["predicted target 0", "predicted target 1"]),
        (Task("graph", 2, "binary_cross_entropy", "roc_auc", ("a", "b")), ["probability of a", "probability of b"]),
        (
            Task("graph", 2, "cross_entropy", "accuracy", ("toxic",)),
            ["probability of toxic class 0", "probability of toxic class 1"],
        ),
        (Task("node", 2, "cross_entropy", "accuracy"), ["probability of class 0", "probability of class 1"]),
        (Task("graph", 2, "cross_entropy", "accuracy", ("no", "yes")), ["probability of no", "probability of yes"]),
    ],
)
def test_outputs_have_the_names_of_their_targets(task: Task, names: list[str]) -> None:
    assert output_names(task) == names


def test_no_two_columns_have_the_same_name() -> None:
    """A column of truths must not be taken for the predictions."""
    written = written_columns(Task("graph", 1, "l1", "mae", ("logp",)), outside=True, coverage=None)
    check_names(Path("new.csv"), ["smiles", "logp"], written)
    named = ("graph", "node", "predicted logp", "predicted logp, Monte Carlo standard error", "outside training")
    for name in named:
        with pytest.raises(
            ValueError, match=f"^new.csv must not have a column '{name}', for predictions have one; rename"
        ):
            check_names(Path("new.csv"), ["smiles", name], written)
