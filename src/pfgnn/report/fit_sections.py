"""The sections of the page of a fitted model: how good it is, how it learned, and how sure it is."""

from collections.abc import Sequence

import numpy as np

from pfgnn.data.task import CLASS_LOSSES
from pfgnn.experiments.fit_baselines import as_scores
from pfgnn.report.curves import draw_training
from pfgnn.report.fit_plots import (
    MOST_POINTS,
    plain,
    plot_coverage,
    plot_parity,
    plot_reliability,
    plot_roc,
    reliability,
)
from pfgnn.report.fit_scores import Coverage, Scored, coverages, score_model
from pfgnn.report.fitted import Doubles, Fitted
from pfgnn.report.html import Html, element, figure, inline_svg, table, text
from pfgnn.training.metrics import higher_is_better

OWN = "PF-GNN (this model)"
MOST_TARGETS = 6  # targets that have a plot of their own
MOST_CLASSES = 20  # of a table of confusions
METRICS = {
    "mae": "mean absolute error",
    "accuracy": "accuracy",
    "roc_auc": "area under the ROC curve",
    "mean_roc_auc": "mean area under the ROC curve",
    "error_ratio": "error ratio",
}


def score_section(fitted: Fitted) -> list[Html]:
    """The test error beside those of simple models."""
    head = element("h2", "How good it is")
    if fitted.test is None:
        return [head, element("p", "No graphs were held out for a test, so nothing is known about new graphs.")]
    own = score_model(fitted.task, as_scores(fitted.test.mean, fitted.task), fitted.truth)
    if not own:
        return [head, element("p", "The test part has too few classes or values to be scored.")]
    others = [(model, score_model(fitted.task, model.prediction, fitted.truth)) for model in fitted.baselines]
    shown = [(OWN, "the model of this folder", own), *((of.name, of.about, scores) for of, scores in others)]
    names = [scored.name for scored in own if "/" not in scored.name]
    rows = [
        [Html(f"{text(name)}{element('small', about)}"), *(_value(scores, metric) for metric in names)]
        for name, about, scores in shown
    ]
    metric, best = own[0], "higher" if higher_is_better(own[0].name) else "lower"
    lead = f"On {len(fitted.test.graphs)} test graphs that were not used in training, the {METRICS[metric.name]} is "
    return [
        head,
        element("p", lead, element("strong", _number(metric.value)), ". ", _verdict(own, others), class_="lead"),
        table(["model", *(METRICS.get(name, name) for name in names)], rows, own=0),
        element(
            "p",
            f"All models were made in the same run, from the same parts; {best} is better. In brackets: 95 % interval "
            f"if other graphs had been drawn for the test (bootstrap).",
            class_="note",
        ),
        *_by_target(shown),
        element("div", *_plots(fitted), class_="figures"),
        *_confusion(fitted),
    ]


def _by_target(shown: Sequence[tuple[str, str, Sequence[Scored]]]) -> list[Html]:
    """The error of each target, if there are several. The metrics of a target have its name after a slash."""
    names = [scored.name for scored in shown[0][2] if "/" in scored.name]
    if not names:
        return []
    rows = [[name.split("/", 1)[1], *(_value(scores, name) for _, _, scores in shown)] for name in names]
    metric = names[0].split("/")[0]
    return [table(["target", *(name for name, _, _ in shown)], rows, f"{METRICS[metric].capitalize()} of each target")]


def _verdict(own: Sequence[Scored], others: Sequence[tuple[object, Sequence[Scored]]]) -> str:
    """Whether the model is better than the best simple one, in words."""
    sign = 1 if higher_is_better(own[0].name) else -1
    rivals = [(getattr(model, "name", ""), scores[0]) for model, scores in others if scores]
    if not rivals:
        return ""
    name, best = max(rivals, key=lambda rival: sign * rival[1].value)
    said = f"{name}, the best of the simple models, has {_number(best.value)}"
    if sign * own[0].value <= sign * best.value:
        return f"{said[0].upper()}{said[1:]}: this model is no better than that."
    apart = own[0].ahead_of(best)
    return f"{said[0].upper()}{said[1:]}" + ("." if apart else "; with so few test graphs the lead may be chance.")


def _value(scores: Sequence[Scored], name: str) -> str:
    for scored in scores:
        if scored.name == name:
            ends = scored.interval
            return _number(scored.value) + (f" ({_number(ends[0])} to {_number(ends[1])})" if ends else "")
    return "–"


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _plots(fitted: Fitted) -> list[Html]:
    assert fitted.test is not None
    if fitted.task.loss != "l1":
        curves = _curves(fitted)
        if not curves:
            return []
        alt = "ROC curves of " + ", ".join(curves)
        return [figure(inline_svg(plot_roc(curves), "roc"), "ROC curve: a curve far above the line is good.", alt)]
    half = {coverage.asked: coverage.half_widths for coverage in _coverages(fitted)}.get(0.9)
    plots = []
    for column, name in enumerate(fitted.target_names()[:MOST_TARGETS]):
        truth, mean = fitted.truth[:, column], fitted.test.mean[:, column]
        some = f" {MOST_POINTS} of {len(truth)} graphs, drawn at random." if len(truth) > MOST_POINTS else ""
        band = " The grey band holds 90 % of new graphs." if half is not None else ""
        known = np.isfinite(truth)
        r = np.corrcoef(truth[known], mean[known])[0, 1] if known.sum() > 2 and np.ptp(truth[known]) else np.nan
        alt = f"Predicted against true {name} of {int(known.sum())} test graphs; correlation {r:.2f}"
        drawn = plot_parity(truth, mean, name, None if half is None else half[column])
        plots.append(figure(inline_svg(drawn, f"parity{column}"), f"Dots on the line are right.{band}{some}", alt))
    return plots


def _curves(fitted: Fitted) -> dict[str, tuple[Doubles, np.ndarray[tuple[int], np.dtype[np.bool_]]]]:
    """For each class or label with both answers in the test part: its scores, and whether each graph has it."""
    assert fitted.test is not None
    truth, mean = fitted.truth, fitted.test.mean
    found = {}
    if fitted.task.loss in CLASS_LOSSES:
        known = ~np.isnan(truth[:, 0])
        two = fitted.task.outputs == 2
        for c, name in list(enumerate(fitted.class_names()))[1 if two else 0 :][:10]:
            found[name] = (mean[known, c], truth[known, 0] == c)
    else:
        for c, name in enumerate(fitted.target_names()[:10]):
            known = ~np.isnan(truth[:, c])
            found[name] = (mean[known, c], truth[known, c] > 0)
    return {plain(name): of for name, of in found.items() if of[1].any() and not of[1].all()}


def _confusion(fitted: Fitted) -> list[Html]:
    """How often each class was taken for each other one."""
    if fitted.test is None or fitted.task.loss not in CLASS_LOSSES or fitted.task.outputs > MOST_CLASSES:
        return []
    known = ~np.isnan(fitted.truth[:, 0])
    names = fitted.class_names()
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (fitted.truth[known, 0].astype(np.int64), fitted.test.mean[known].argmax(axis=1)), 1)
    rows = [[name, *row] for name, row in zip(names, counts.tolist(), strict=True)]
    return [table(["true class", *(f"predicted {name}" for name in names)], rows, "Number of test graphs")]


def learning_section(fitted: Fitted) -> list[Html]:
    """The learning curves."""
    runs = {plain(name): [lines] for name, lines in fitted.metrics.items() if lines}
    if not runs:
        return []
    record = fitted.record
    told = f"{record['epochs']} epochs, {record['seconds']['training']:.0f} seconds on {record['device']}. "
    chosen = (
        "The weights with the best validation are kept" if record["selected"] == "best" else "The last weights are kept"
    )
    alt = "Training loss and validation metric by epoch, of " + " and ".join(runs)
    caption = f"{told}{chosen}: those of update {record['selected_update']} of {record['updates']}."
    return [
        element("h2", "How it learned"),
        element("div", figure(inline_svg(draw_training(runs), "curves"), caption, alt), class_="figures large"),
    ]


def _coverages(fitted: Fitted) -> list[Coverage]:
    if fitted.test is None or fitted.calibration is None or fitted.task.loss != "l1":
        return []
    return coverages(np.abs(fitted.test.mean - fitted.truth), fitted.calibration)


def certainty_section(fitted: Fitted) -> list[Html]:
    """How sure the model is, and whether it is right to be."""
    if fitted.test is None:
        return []
    head = element("h2", "How sure it is")
    if fitted.task.loss != "l1":
        curves = _curves(fitted)
        plots = [
            figure(
                inline_svg(plot_reliability(reliability(p, positive)), f"reliability{number}"),
                f"{name}: dots on the line mean that the probabilities are right. Bars: two standard errors.",
                f"Share of graphs with {name}, by its predicted probability",
            )
            for number, (name, (p, positive)) in enumerate(list(curves.items())[:MOST_TARGETS])
        ]
        return [head, element("div", *plots, class_="figures")] if plots else []
    found = _coverages(fitted)
    if not found:
        return [head, element("p", "No graphs were held out for calibration, so there are no intervals.")]
    names = fitted.target_names()
    rows = [
        [
            f"{100 * c.asked:g} %",
            f"{100 * c.got:.1f} %",
            *(f"± {_number(half)}" for half in c.half_widths[:MOST_TARGETS]),
        ]
        for c in found
    ]
    graphs = len(fitted.test.graphs)
    asked, got = (np.array([getattr(c, name) for c in found]) for name in ("asked", "got"))
    alt = "Coverage of the intervals on the test graphs: " + ", ".join(f"{row[0]} asked, {row[1]} got" for row in rows)
    return [
        head,
        element(
            "p",
            "An interval is the prediction plus or minus a number. This number was found on graphs that were held out "
            f"for it ({len(fitted.calibration[0]) if fitted.calibration else 0} graphs). The test graphs show whether "
            "the intervals keep their promise.",
        ),
        element(
            "div",
            table(["asked", "got", *(f"interval of {name}" for name in names[:MOST_TARGETS])], rows),
            figure(inline_svg(plot_coverage(asked, got, graphs), "coverage"), "Bars: two standard errors.", alt),
            class_="figures",
        ),
    ]
