"""Metrics of predictions: the metric of the task, and others that are reported with it."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from pfgnn.argument_checks import choose
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError

Score = dict[str, float]
Doubles = npt.NDArray[np.float64]
LEAST = 1e-9  # smallest probability, so that it has a logarithm
TEMPERATURES = torch.logspace(-1, 1, 41, dtype=torch.float64).tolist()  # those that log_loss tries


def score(task: Task, prediction: Tensor, y: Tensor) -> Score:
    """The metrics by name, computed in float64. The metric of the task comes first. Unknown targets do not count.

        accuracy      share of rows whose class is predicted correctly; also gives mean_roc_auc if two classes occur
        roc_auc       area under the ROC curve; the mean over the targets in which both classes occur; with several
                      targets also the area of each of these, as "roc_auc/NAME"
        mean_roc_auc  mean over classes c of the area for "class c or another"; also gives accuracy
        mae           mean over targets c of the mean absolute error e_c; also gives log_mae, the mean of log e_c if
                      all are above 0, and with several targets the error of each one, as "mae/NAME"
        error_ratio   mean over targets c of e_c / scale_c, and the ratio of each one, as "error_ratio/NAME"
        pairs         accuracy; pairs themselves are not scored here

    Args:
        task: Names the metric.
        prediction: Logits or values of R graphs or nodes, [R, C]. They must be finite.
        y: Classes [R, 1], or targets [R, C]. NaN means unknown.
    """
    z, y = prediction.detach().cpu().double(), y.cpu().double()
    columns = 1 if task.metric in CLASSES else task.outputs
    for name, values, want in (("prediction", prediction, task.outputs), ("y", y, columns)):
        if values.shape != (len(prediction), want):
            raise InputError(f"{name} must have shape {[len(prediction), want]}, but it has {list(values.shape)}")
    if not len(prediction):
        raise InputError("prediction must have at least one row to be scored, but it has none")
    if not (finite := z.isfinite()).all():
        row, column = (~finite).nonzero()[0].tolist()
        raise InputError(f"prediction must be finite to be scored, but row {row} has {float(z[row, column])}")
    if (empty := y.isnan().all(0)).any():
        target = (task.targets or range(columns))[int(empty.nonzero()[0])]
        raise InputError(f"y must have a value of every target to be scored, but target {target} is NaN in all rows")
    if task.metric in CLASSES:
        known = ~y.isnan()[:, 0]
        z, y = z[known], y[known].long()
    return choose("task.metric", task.metric, METRICS)(task, z, y)


def as_scores(prediction: Doubles, task: Task) -> Doubles:
    """Probabilities as logits, so that :func:`score` can read them. Numbers stay, [R, C]."""
    if task.loss == "l1":
        return prediction
    p = np.clip(prediction, LEAST, 1 - LEAST)
    return np.log(p) if task.loss in CLASS_LOSSES else np.log(p) - np.log1p(-p)


def higher_is_better(metric: str) -> bool:
    """Whether higher values of a metric are better."""
    return choose("metric", metric, HIGHER_IS_BETTER)


def accuracy(prediction: Tensor, y: Tensor) -> float:
    """Share of the rows with a known class for which it is predicted.

    Args:
        prediction: A score for each class, [R, C]; or with two classes, the logit of class 1, [R, 1].
        y: Class numbers, [R, 1]. NaN means unknown.
    """
    named = prediction.argmax(1) if prediction.shape[1] > 1 else prediction[:, 0] > 0
    return float((named == y[:, 0])[~y[:, 0].isnan()].double().mean())


def log_loss(prediction: Tensor, y: Tensor) -> float:
    """The least mean of -log softmax(z / T)_y over the rows with a known class, for a temperature T from 0.1 to 10.

    A network that has learned its training graphs by heart is too sure of itself, and its plain log loss grows, even if
    it still gets better at ranking the classes. T takes that out, as the calibration of a fit does.

    Args:
        prediction: Logits z, [R, C].
        y: Class numbers, [R, 1]. NaN means unknown.
    """
    known = ~y[:, 0].isnan()
    z, classes = prediction[known].cpu().double(), y[known, 0].cpu().long()
    return min(float(cross_entropy(z / temperature, classes)) for temperature in TEMPERATURES)


def _accuracy(task: Task, z: Tensor, y: Tensor) -> Score:
    several = z.shape[1] > 1 and len(y.unique()) > 1
    return {"accuracy": accuracy(z, y)} | ({"mean_roc_auc": _mean_area(z, y)} if several else {})


def _roc_auc(task: Task, z: Tensor, y: Tensor) -> Score:
    known = ~y.isnan()
    columns = [(z[known[:, c], c], y[known[:, c], c]) for c in range(task.outputs)]
    names = task.targets or range(task.outputs)
    areas = {
        f"roc_auc/{name}": _area(scores, labels > 0)
        for name, (scores, labels) in zip(names, columns, strict=True)
        if len(labels.unique()) == 2
    }
    if not areas:
        raise InputError("y must have both classes for roc_auc, but no target has both")
    return {"roc_auc": sum(areas.values()) / len(areas)} | (areas if task.outputs > 1 else {})


def _mean_roc_auc(task: Task, z: Tensor, y: Tensor) -> Score:
    classes = y.unique().tolist()
    if len(classes) < 2:
        raise InputError(f"y must have at least two classes for mean_roc_auc, but it has {classes}")
    return {"mean_roc_auc": _mean_area(z, y), "accuracy": accuracy(z, y)}


def _mean_area(z: Tensor, y: Tensor) -> float:
    areas = []
    for c in y.unique().tolist():
        others = torch.cat([z[:, :c], z[:, c + 1 :]], 1)
        # log p_c / (1 - p_c) orders the rows as the softmax p_c does, but p_c may round to 0 or 1.
        areas.append(_area(z[:, c] - others.logsumexp(1), y[:, 0] == c))
    return sum(areas) / len(areas)


def _area(scores: Tensor, positive: Tensor) -> float:
    """Area under the ROC curve of scores [R]: the share of pairs, one of each class, in the right order.

    A tie counts half. So the area is (Σ r - n (n + 1) / 2) / (n m), where r are the ranks of the n positive rows among
    all n + m, and rows with equal scores share the mean of their ranks.
    """
    _, place, counts = scores.unique(return_inverse=True, return_counts=True)
    ranks = (counts.cumsum(0) - (counts.double() - 1) / 2)[place]
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))


def _mae(task: Task, z: Tensor, y: Tensor) -> Score:
    errors = _errors(z, y)
    means = {"mae": float(errors.mean())}
    if errors.all():  # the logarithm of 0 is no number
        means["log_mae"] = float(errors.log().mean())
    return means | (_by_name(task, "mae", errors) if task.outputs > 1 else {})


def _error_ratio(task: Task, z: Tensor, y: Tensor) -> Score:
    if not task.scales:
        raise InputError("task.scales must have a scale for each target for the metric error_ratio, but it is empty")
    ratios = _errors(z, y) / torch.tensor(task.scales, dtype=torch.float64)
    return {"error_ratio": float(ratios.mean())} | _by_name(task, "error_ratio", ratios)


def _errors(z: Tensor, y: Tensor) -> Tensor:
    """Mean absolute error of each target, over the rows in which it is known: [C]."""
    return (z - y).abs().nanmean(0)


def _by_name(task: Task, metric: str, values: Tensor) -> Score:
    names = task.targets or range(task.outputs)
    return {f"{metric}/{name}": value for name, value in zip(names, values.tolist(), strict=True)}


CLASSES = ("accuracy", "mean_roc_auc", "pairs")  # metrics whose targets are class numbers
METRICS: dict[str, Callable[[Task, Tensor, Tensor], Score]] = {
    "accuracy": _accuracy,
    "roc_auc": _roc_auc,
    "mean_roc_auc": _mean_roc_auc,
    "mae": _mae,
    "error_ratio": _error_ratio,
    "pairs": lambda task, z, y: {"accuracy": accuracy(z, y)},
}
HIGHER_IS_BETTER = {name: name not in ("mae", "error_ratio") for name in METRICS}
