"""The loss of the task for each graph, from which :class:`pfgnn.training.Objective` is computed."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from pfgnn.argument_checks import choose
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError
from pfgnn.ops.segments import make_segments, segment_sum


def graph_losses(
    task: Task, prediction: Tensor, y: Tensor, batch: Tensor, num_graphs: int, class_weights: Tensor | None = None
) -> Tensor:
    """The loss of each graph, [G]. At node level it is the mean over the nodes of the graph.

    A target that is NaN is unknown. A row or a graph without a known target has loss 0. At node level the mean is over
    the nodes with a known target. z is a row of the prediction. The last two losses are means over the known targets c
    of the row:

        cross_entropy           -log softmax(z)_y
        weighted_cross_entropy  -w_y log softmax(z)_y
        binary_cross_entropy    -y_c log σ(z_c) - (1 - y_c) log(1 - σ(z_c))
        l1                      |z_c - y_c|

    Args:
        task: Names the loss.
        prediction: Outputs of the model, [G, C], or [N, C] at node level.
        y: Class numbers, [G, 1] or [N, 1], or targets with the shape of the prediction.
        batch: Graph number of each node, [N].
        num_graphs: G.
        class_weights: w [C], see :func:`class_weights`; only for weighted_cross_entropy.
    """
    if task.loss == "none":
        raise InputError("task.loss must be a loss to train with, but it is 'none': this task is not trained")
    rows = len(batch) if task.level == "node" else num_graphs
    for name, values, columns in (
        ("prediction", prediction, task.outputs),
        ("y", y, 1 if task.loss in CLASS_LOSSES else task.outputs),
    ):
        if values.shape != (rows, columns):
            raise InputError(f"{name} must have shape {[rows, columns]}, but it has {list(values.shape)}")
    if (task.loss == "weighted_cross_entropy") != (class_weights is not None):
        there = "None" if class_weights is None else "given"
        raise InputError(
            f"class_weights must be given for weighted_cross_entropy only, but for {task.loss} it is {there}"
        )
    known = ~y.isnan()
    y = y.where(known, 0)  # so that no gradient is NaN
    losses = choose("task.loss", task.loss, LOSSES)(prediction, y).where(known, 0).sum(1) / known.sum(1).clamp(min=1)
    if class_weights is not None:
        losses = losses * class_weights[y[:, 0].long()]
    if task.level != "node":
        return losses
    nodes = make_segments(batch, num_graphs, ordered=True)
    return segment_sum(losses, nodes) / segment_sum(known.any(1).to(losses.dtype), nodes).clamp(min=1)


def class_weights(y: Tensor, classes: int) -> Tensor:
    """w_c = N / (n_c · number of classes that occur), float32 [C]: the weights of the classes.

    n_c counts the targets of class c. The mean weight of the N targets is 1. A class that does not occur has weight 0.
    Unknown classes do not count.

    Args:
        y: Classes of the training part, [N, 1]. NaN means unknown.
        classes: C.
    """
    known = y[~y.isnan()].long()
    counts = torch.bincount(known, minlength=classes)
    weights = len(known) / (counts.clamp(min=1) * (counts > 0).sum())
    return weights.where(counts > 0, 0).float()


def _cross_entropy(z: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(z, y[:, 0].long(), reduction="none")[:, None]


def _binary_cross_entropy(z: Tensor, y: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(z, y.to(z.dtype), reduction="none")


def _l1(z: Tensor, y: Tensor) -> Tensor:
    return (z - y.to(torch.promote_types(z.dtype, torch.float32))).abs()  # targets in bfloat16 would be too coarse


# The losses of the targets of each row, [R, C], from predictions and targets.
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross_entropy": _cross_entropy,
    "weighted_cross_entropy": _cross_entropy,
    "binary_cross_entropy": _binary_cross_entropy,
    "l1": _l1,
}
