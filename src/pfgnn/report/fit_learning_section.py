"""The section of the page of a fitted model that shows how it learned."""

from pfgnn.data.task import CLASS_LOSSES
from pfgnn.experiments.run_directory import ended_early
from pfgnn.report.curves import SMOOTHED_FROM, WINDOW, draw_curve
from pfgnn.report.fit_plots import plain
from pfgnn.report.fitted import Fitted
from pfgnn.report.html import Html, element, figure, inline_svg

LOSSES = {
    "cross_entropy": "cross-entropy",
    "weighted_cross_entropy": "cross-entropy, classes weighted",
    "binary_cross_entropy": "cross-entropy",
}
SCORES = {
    "accuracy": "accuracy",
    "roc_auc": "area under the ROC curve",
    "mean_roc_auc": "mean area under the ROC curve",
    "error_ratio": "error ratio",
}


def learning_section(fitted: Fitted) -> list[Html]:
    """The learning curves: the loss in training, and the score in validation, each with an axis of its own."""
    runs = {plain(name): [lines] for name, lines in fitted.metrics.items() if lines}
    if not runs:
        return []
    record, models = fitted.record, " and ".join(runs)
    shown = [("loss", loss_name(fitted), "Loss in training", "It is what the training makes small.")]
    if any(line["validation"] is not None for (lines,) in runs.values() for line in lines):
        shown.append(("validation", score_name(fitted), "Score in validation", _better(fitted)))
    plots = [
        figure(
            inline_svg(draw_curve(runs, key, plain(label)), f"curves-{key}"),
            f"{title}. {about}",
            f"{title} by epoch, of {models}",
        )
        for key, label, title, about in shown
    ]
    kept = "the weights with the best validation score" if record["selected"] == "best" else "the last weights"
    said = (
        f"{record['epochs']} epochs, {record['seconds']['training']:.0f} seconds on {record['device']}. The model has "
        f"{kept}: those of update {record['selected_update']} of {record['updates']}."
    )
    if early := ended_early(record):
        said += f" {early}"
    if any(len(lines) >= SMOOTHED_FROM for (lines,) in runs.values()):
        said += f" Pale lines are the single values. Strong lines are smoothed: the median of {WINDOW} values each."
    return [element("h2", "How it learned"), element("p", said), element("div", *plots, class_="figures")]


def loss_name(fitted: Fitted) -> str:
    """What the loss is, for the axis."""
    if fitted.task.loss != "l1":
        return f"loss: {LOSSES[fitted.task.loss]}"
    unit = _deviations(fitted) or "units of the target"
    return f"loss: absolute error, in {unit}"


def _deviations(fitted: Fitted) -> str:
    """By what the targets were divided in training; "" if they were not."""
    config = fitted.record.get("config", {})
    if not config.get("training", {}).get("standardise"):
        return ""
    linear = config.get("model", {}).get("linear")
    return "deviations from the linear part" if linear else "standard deviations"


def _by_log_loss(fitted: Fitted) -> bool:
    """Whether the best weights were selected by their log loss."""
    return bool(fitted.record.get("config", {}).get("training", {}).get("select") == "log_loss")


def score_name(fitted: Fitted) -> str:
    """What the validation metric is, with its unit, for the axis."""
    names = fitted.target_names()
    if fitted.task.metric == "mae" and len(names) == 1:
        return f"mean absolute error, in units of {names[0]}"
    if fitted.task.metric == "mae":
        unit = _deviations(fitted) or "units of each"
        return f"mean error of all targets, in {unit}"
    return "log loss" if _by_log_loss(fitted) else SCORES[fitted.task.metric]


def _better(fitted: Fitted) -> str:
    if fitted.task.metric == "mae" and len(fitted.target_names()) > 1 and not _deviations(fitted):
        return "Lower is better. It mixes the units of the targets, so only its course means something."
    if _by_log_loss(fitted):
        return (
            "Lower is better. It is the least log loss of all temperatures, so a model that is only too sure is not "
            "punished."
        )
    return "Higher is better." if fitted.task.loss in (*CLASS_LOSSES, "binary_cross_entropy") else "Lower is better."
