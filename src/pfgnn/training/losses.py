"""The loss of the task for each graph, from which :class:`pfgnn.training.Objective` is computed."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from pfgnn.argument_checks import choose
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError
from pfgnn.ops.segments import make_segments, segment_mean


def graph_losses(
    task: Task, prediction: Tensor, y: Tensor, batch: Tensor, num_graphs: int, class_weights: Tensor | None = None
) -> Tensor:
    """The loss of each graph, [G]. At node level it is the mean over the nodes of the graph.

    z is a row of the prediction. The last two losses are means over the targets c of the row that are not NaN:

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
    losses = choose("task.loss", task.loss, LOSSES)(prediction, y)
    if class_weights is not None:
        losses = losses * class_weights[y[:, 0]]
    return segment_mean(losses, make_segments(batch, num_graphs, ordered=True)) if task.level == "node" else losses


def class_weights(y: Tensor, classes: int) -> Tensor:
    """w_c = N / (n_c · number of classes that occur), float32 [C]: the weights of the classes.

    n_c counts the targets of class c. The mean weight of the N targets is 1. A class that does not occur has weight 0.

    Args:
        y: Classes of the training part, int64 [N, 1].
        classes: C.
    """
    counts = torch.bincount(y.flatten(), minlength=classes)
    weights = len(y) / (counts.clamp(min=1) * (counts > 0).sum())
    return weights.where(counts > 0, 0).float()


def _cross_entropy(z: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(z, y[:, 0], reduction="none")


def _binary_cross_entropy(z: Tensor, y: Tensor) -> Tensor:
    known = ~y.isnan()
    losses = binary_cross_entropy_with_logits(z, y.where(known, 0).to(z.dtype), reduction="none")
    return _mean_of_known(losses, known)


def _l1(z: Tensor, y: Tensor) -> Tensor:
    known = ~y.isnan()
    y = y.to(torch.promote_types(z.dtype, torch.float32))  # targets in bfloat16 would be too coarse
    return _mean_of_known((z - y.where(known, 0)).abs(), known)


def _mean_of_known(losses: Tensor, known: Tensor) -> Tensor:
    """Mean over the known targets of each row, or 0 if none is known: [R, C] -> [R]."""
    return losses.where(known, 0).sum(1) / known.sum(1).clamp(min=1)


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross_entropy": _cross_entropy,
    "weighted_cross_entropy": _cross_entropy,
    "binary_cross_entropy": _binary_cross_entropy,
    "l1": _l1,
}
