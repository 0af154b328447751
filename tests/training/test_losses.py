"""Losses of graphs against torch's own, and by hand."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pfgnn.data.task import Task
from pfgnn.training.losses import class_weights, graph_losses

BATCH = torch.tensor([0, 0, 0, 1])  # three nodes and one
CLASSES = torch.tensor([[0], [2], [2], [1]])


def losses(task: Task, prediction: Tensor, y: Tensor, weights: Tensor | None = None) -> Tensor:
    """At graph level every row is a graph."""
    graphs = 2 if task.level == "node" else len(prediction)
    return graph_losses(task, prediction, y, BATCH, graphs, weights)


@pytest.mark.parametrize("level", ["graph", "pair", "node"])
def test_cross_entropy(level: str, dtype: torch.dtype) -> None:
    z = torch.randn(4, 3, dtype=dtype)
    rows = -z.log_softmax(1)[torch.arange(4), CLASSES[:, 0]]
    want = torch.stack([rows[:3].mean(), rows[3]]) if level == "node" else rows
    torch.testing.assert_close(losses(Task(level, 3, "cross_entropy", "accuracy"), z, CLASSES), want)


def test_weighted_cross_entropy_multiplies_each_rows_loss() -> None:
    z, weights = torch.randn(4, 3), torch.tensor([0.5, 2.0, 3.0])
    plain = losses(Task("graph", 3, "cross_entropy", "accuracy"), z, CLASSES)
    got = losses(Task("graph", 3, "weighted_cross_entropy", "accuracy"), z, CLASSES, weights)
    torch.testing.assert_close(got, plain * torch.tensor([0.5, 3.0, 3.0, 2.0]))


def test_class_weights_are_inverse_frequencies_of_mean_1() -> None:
    y = torch.tensor([[0], [0], [0], [2], [2], [0]])
    weights = class_weights(y, 4)
    assert weights.tolist() == [0.75, 0.0, 1.5, 0.0]
    assert float(weights[y].mean()) == 1


def test_binary_cross_entropy_leaves_unknown_targets_out() -> None:
    z = torch.tensor([[1.0, -2.0], [0.5, 3.0], [4.0, 4.0]], requires_grad=True)
    y = torch.tensor([[1.0, 0.0], [math.nan, 1.0], [math.nan, math.nan]])
    got = graph_losses(Task("graph", 2, "binary_cross_entropy", "roc_auc"), z, y, BATCH, 3)
    softplus = functional.softplus
    want = [(softplus(torch.tensor(-1.0)) + softplus(torch.tensor(-2.0))) / 2, softplus(torch.tensor(-3.0)), 0.0]
    torch.testing.assert_close(got.detach(), torch.tensor(want))
    got.sum().backward()
    assert z.grad is not None
    assert z.grad[1:].count_nonzero() == 1
    assert z.grad.isfinite().all()


def test_l1_is_the_mean_over_known_targets() -> None:
    z, y = torch.tensor([[1.0, 5.0], [2.0, 2.0]]), torch.tensor([[0.0, 2.0], [math.nan, -1.0]])
    assert losses(Task("graph", 2, "l1", "mae"), z, y).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_l1_keeps_targets_in_float32(dtype: torch.dtype) -> None:
    """Predictions of mixed precision, and targets stored in float64."""
    got = losses(Task("graph", 1, "l1", "mae"), torch.zeros(1, 1, dtype=dtype), torch.tensor([[1.2345678]]).double())
    torch.testing.assert_close(got, torch.tensor([1.2345678]), rtol=1e-7, atol=0)


def test_a_nodes_l1() -> None:
    z, y = torch.tensor([[1.0], [2.0], [6.0], [4.0]]), torch.zeros(4, 1)
    assert losses(Task("node", 1, "l1", "mae"), z, y).tolist() == [3.0, 4.0]


@pytest.mark.parametrize("loss", ["cross_entropy", "weighted_cross_entropy"])
def test_unknown_classes_are_left_out(loss: str) -> None:
    """The first graph has one known node of three, and the second has none."""
    z, weights = torch.randn(4, 3, requires_grad=True), torch.tensor([0.5, 2.0, 3.0])
    y = torch.tensor([[math.nan], [2.0], [math.nan], [math.nan]])
    got = losses(Task("node", 3, loss, "accuracy"), z, y, weights if loss.startswith("weighted") else None)
    known = -z.log_softmax(1)[1, 2] * (3.0 if loss.startswith("weighted") else 1.0)
    torch.testing.assert_close(got, torch.stack([known, torch.zeros(())]))
    got.sum().backward()
    assert z.grad is not None
    assert z.grad[[0, 2, 3]].count_nonzero() == 0
    assert z.grad.isfinite().all()


def test_unknown_classes_have_no_part_in_the_weights() -> None:
    y = torch.tensor([[0.0], [math.nan], [0.0], [2.0], [math.nan], [0.0]])
    torch.testing.assert_close(class_weights(y, 4), class_weights(torch.tensor([[0], [0], [2], [0]]), 4))


def test_a_graphs_l1_is_the_mean_over_its_known_nodes() -> None:
    z, y = torch.tensor([[1.0], [2.0], [6.0], [4.0]]), torch.tensor([[0.0], [math.nan], [0.0], [math.nan]])
    assert losses(Task("node", 1, "l1", "mae"), z, y).tolist() == [3.5, 0.0]


def test_wrong_input_is_named() -> None:
    task = Task("graph", 3, "cross_entropy", "accuracy")
    with pytest.raises(ValueError, match=r"task.loss must be a loss to train with, but it is 'none'"):
        losses(Task("pair", 3, "none", "pairs"), torch.zeros(4, 3), CLASSES)
    with pytest.raises(ValueError, match=r"prediction must have shape \[4, 3\], but it has \[4, 2\]"):
        losses(task, torch.zeros(4, 2), CLASSES)
    with pytest.raises(ValueError, match=r"y must have shape \[4, 1\], but it has \[4\]"):
        losses(task, torch.zeros(4, 3), CLASSES[:, 0])
    with pytest.raises(ValueError, match=r"class_weights must be given .* but for cross_entropy it is given"):
        losses(task, torch.zeros(4, 3), CLASSES, torch.ones(3))
    with pytest.raises(ValueError, match=r"class_weights must be given .* but for weighted_cross_entropy it is None"):
        losses(Task("graph", 3, "weighted_cross_entropy", "accuracy"), torch.zeros(4, 3), CLASSES)
