"""Metrics against scikit-learn and by hand."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.metrics import accuracy_score, mean_absolute_error, roc_auc_score
from sklearn.metrics import log_loss as reference_log_loss

from pfgnn.data.task import METRICS, Task
from pfgnn.training.metrics import higher_is_better, log_loss, score

CLASSES = Task("node", 3, "weighted_cross_entropy", "mean_roc_auc")
BINARY = Task("graph", 1, "binary_cross_entropy", "roc_auc")


@pytest.mark.parametrize("metric", ["accuracy", "pairs"])
def test_accuracy(metric: str) -> None:
    z, y = torch.randn(500, 4), torch.randint(4, (500, 1))
    got = score(Task("graph", 4, "cross_entropy", metric), z, y)
    assert got["accuracy"] == accuracy_score(y, z.argmax(1))
    area = roc_auc_score(y[:, 0], z.double().softmax(1), multi_class="ovr")
    assert got.get("mean_roc_auc") == (pytest.approx(area, abs=1e-6) if metric == "accuracy" else None)


def test_one_class_alone_has_an_accuracy_and_no_area() -> None:
    assert score(Task("graph", 2, "cross_entropy", "accuracy"), torch.eye(2), torch.ones(2, 1)) == {"accuracy": 0.5}


def test_accuracy_of_one_logit() -> None:
    z, y = torch.tensor([[0.3], [-0.2], [4.0], [-5.0]]), torch.tensor([[1.0], [1.0], [1.0], [0.0]])
    assert score(Task("graph", 1, "binary_cross_entropy", "accuracy"), z, y) == {"accuracy": 0.75}


@pytest.mark.parametrize("places", [1, 6])
def test_roc_auc_with_and_without_ties(places: int) -> None:
    y = (torch.rand(3000, 1) < 0.1).float()
    z = (3 * (torch.randn(3000, 1) + y)).round(decimals=places)
    assert score(BINARY, z, y)["roc_auc"] == pytest.approx(roc_auc_score(y, z), abs=1e-12)


def test_roc_auc_of_logits_that_a_sigmoid_would_round_to_1() -> None:
    assert score(BINARY, torch.tensor([[400.0], [500.0], [600.0]]), torch.tensor([[0.0], [1.0], [1.0]])) == {
        "roc_auc": 1.0
    }


def test_roc_auc_of_several_targets_leaves_out_the_unknown_and_those_of_one_class() -> None:
    z = torch.tensor([[1.0, 9.0, 0.0], [2.0, 1.0, 1.0], [3.0, 0.0, 2.0], [0.0, 2.0, 3.0]])
    y = torch.tensor([[0.0, math.nan, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    got = score(Task("graph", 3, "binary_cross_entropy", "roc_auc"), z, y)
    each = {"roc_auc/0": pytest.approx(2 / 3), "roc_auc/1": 0.5}
    assert got == {"roc_auc": pytest.approx((2 / 3 + 1 / 2) / 2), **each}
    with pytest.raises(ValueError, match="y must have both classes for roc_auc"):
        score(BINARY, z[:, :1], torch.ones(4, 1))


def test_log_loss_is_that_of_the_best_temperature() -> None:
    """A model that is three times too sure has the same log loss. Unknown classes do not count."""
    y = torch.randint(3, (500, 1)).double()
    z = torch.randn(500, 3) + torch.eye(3)[y[:, 0].long()]

    def at(logarithm: float) -> float:
        p = (z.double() / math.exp(logarithm)).softmax(1)
        return float(reference_log_loss(y[:, 0], p))

    best = minimize_scalar(at, bounds=(-2, 2)).fun
    for sure in (1, 3):
        assert best <= log_loss(sure * z, y) < best + 1e-3
    assert log_loss(torch.cat([z, 100 * z[:9]]), torch.cat([y, torch.full((9, 1), math.nan)])) == log_loss(z, y)
    assert log_loss(-z, y) > math.log(3)


def test_log_loss_sees_what_accuracy_does_not() -> None:
    """One graph in ten is of class 1, and no prediction says so. Ranking these graphs first is better."""
    y = (torch.arange(100) < 10).double()[:, None]
    blind, ranks = torch.tensor([[2.2, 0.0]]).repeat(100, 1), torch.cat([torch.full((100, 1), 2.2), y - 0.1], 1)
    task = Task("graph", 2, "cross_entropy", "accuracy")
    assert score(task, blind, y)["accuracy"] == score(task, ranks, y)["accuracy"]
    assert log_loss(ranks, y) < log_loss(blind, y) - 0.01


def test_mean_roc_auc_is_one_against_the_rest() -> None:
    y = torch.tensor(np.random.default_rng(0).choice(3, (2000, 1), p=[0.7, 0.25, 0.05]))
    z = torch.randn(2000, 3) + torch.eye(3)[y[:, 0]]
    got = score(CLASSES, z, y)
    assert list(got) == ["mean_roc_auc", "accuracy"]
    want = roc_auc_score(y[:, 0], z.double().softmax(1), multi_class="ovr")
    assert got["mean_roc_auc"] == pytest.approx(want, abs=1e-7)
    assert got["accuracy"] == accuracy_score(y, z.argmax(1))


def test_mean_roc_auc_of_a_constant_predictor_is_a_half() -> None:
    y = torch.randint(3, (1000, 1))
    assert score(CLASSES, torch.tensor([[0.1, 2.0, -1.0]]).expand(1000, 3), y)["mean_roc_auc"] == 0.5


def test_mean_roc_auc_leaves_absent_classes_out_and_sees_beyond_rounding() -> None:
    z = torch.tensor([[900.0, 0.0, 0.0], [800.0, 0.0, 0.0], [700.0, 0.0, 0.0]])
    got = score(CLASSES, z, torch.tensor([[0], [0], [2]]))
    assert got == {"mean_roc_auc": 1.0, "accuracy": pytest.approx(2 / 3)}
    with pytest.raises(ValueError, match=r"y must have at least two classes for mean_roc_auc, but it has \[1\]"):
        score(CLASSES, z, torch.ones(3, 1))


def test_mae_of_one_target() -> None:
    z, y = torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0], [0.0]])
    assert score(Task("graph", 1, "l1", "mae"), z, y) == {"mae": 2.0, "log_mae": pytest.approx(math.log(2))}


def test_the_logarithm_of_no_error_is_left_out() -> None:
    """JSON has no infinity."""
    y = torch.tensor([[0.0, 1.0], [1.0, 3.0]])
    assert score(Task("graph", 2, "l1", "mae"), y, y) == {"mae": 0.0, "mae/0": 0.0, "mae/1": 0.0}


def test_mae_of_several_targets_by_name() -> None:
    z, y = torch.randn(50, 2), torch.randn(50, 2)
    each = mean_absolute_error(y.double(), z.double(), multioutput="raw_values")
    got = score(Task("graph", 2, "l1", "mae", ("mu", "alpha")), z, y)
    want = {"mae": each.mean(), "log_mae": np.log(each).mean(), "mae/mu": each[0], "mae/alpha": each[1]}
    assert list(got) == list(want)
    assert got == pytest.approx(want, rel=1e-12)
    assert list(score(Task("graph", 2, "l1", "mae"), z, y))[2:] == ["mae/0", "mae/1"]


def test_error_ratio_divides_by_the_scales() -> None:
    z, y = torch.tensor([[1.0, 1.0], [3.0, 7.0]]), torch.tensor([[0.0, 0.0], [0.0, math.nan]])
    got = score(Task("graph", 2, "l1", "error_ratio", ("a", "b"), (0.5, 4.0)), z, y)
    assert got == {"error_ratio": 2.125, "error_ratio/a": 4.0, "error_ratio/b": 0.25}
    with pytest.raises(ValueError, match=r"task.scales must have a scale for each target"):
        score(Task("graph", 2, "l1", "error_ratio"), z, y)


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"y must have shape \[5, 1\], but it has \[5, 3\]"):
        score(CLASSES, torch.zeros(5, 3), torch.zeros(5, 3))
    with pytest.raises(ValueError, match=r"prediction must have shape \[5, 1\], but it has \[5, 2\]"):
        score(BINARY, torch.zeros(5, 2), torch.zeros(5, 1))
    with pytest.raises(ValueError, match="prediction must have at least one row"):
        score(BINARY, torch.zeros(0, 1), torch.zeros(0, 1))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("metric", [name for name in METRICS if name != "mean_roc_auc"])
def test_what_is_not_finite_is_never_scored(metric: str, bad: float) -> None:
    task = Task("graph", 1, "l1", metric, scales=(1.0,))
    z, y = torch.tensor([[0.5], [bad], [2.0]]), torch.tensor([[0.0], [1.0], [1.0]])
    with pytest.raises(ValueError, match=f"prediction must be finite to be scored, but row 1 has {bad}"):
        score(task, z, y)


@pytest.mark.parametrize("metric", ["accuracy", "mean_roc_auc", "pairs"])
def test_rows_without_a_class_do_not_count(metric: str) -> None:
    task, known = Task("graph", 3, "cross_entropy", metric), torch.rand(50) < 0.5
    z, y = torch.randn(50, 3), torch.randint(3, (50, 1)).double()
    want = score(task, z[known], y[known])
    y[~known] = math.nan
    assert score(task, z, y) == want


def test_a_target_that_nobody_knows_is_named() -> None:
    y = torch.tensor([[1.0, math.nan], [2.0, math.nan]])
    with pytest.raises(ValueError, match="y must have a value of every target to be scored, but target alpha is NaN"):
        score(Task("graph", 2, "l1", "mae", ("mu", "alpha")), torch.zeros(2, 2), y)
    with pytest.raises(ValueError, match="but target 0 is NaN in all rows"):
        score(CLASSES, torch.zeros(2, 3), y[:, 1:])


def test_every_metric_has_a_direction() -> None:
    assert [name for name in METRICS if not higher_is_better(name)] == ["mae", "error_ratio"]
    with pytest.raises(ValueError, match=r"metric must be one of accuracy, .* but it is 'f1'"):
        higher_is_better("f1")
