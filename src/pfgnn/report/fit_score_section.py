"""The section of the page of a fitted model that says how good it is, beside simple models, target by target."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pfgnn.data.task import CLASS_LOSSES
from pfgnn.experiments.fit_baselines import FOREST
from pfgnn.report.fit_numbers import fixed, metric_decimals
from pfgnn.report.fit_plots import MOST_POINTS, plain, plot_histogram, plot_parity, plot_roc
from pfgnn.report.fit_scores import Coverage, Scored, Target, coverages, score_target
from pfgnn.report.fitted import Doubles, Fitted
from pfgnn.report.html import Html, element, figure, inline_svg, table, text
from pfgnn.training.metrics import as_scores, higher_is_better

OWN = "PF-GNN (this model)"
NO_FOREST = "The random forest was left out: it needs scikit-learn; install it with: pip install 'pfgnn[sklearn]'."
MOST_TARGETS = 6  # targets that have tables and plots of their own
MOST_CLASSES = 20  # of a table of confusions
BAND = 0.9  # coverage of the grey band of a plot
METRICS = {
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
    "r2": "coefficient of determination",
    "accuracy": "accuracy",
    "roc_auc": "area under the ROC curve",
    "mean_roc_auc": "mean area under the ROC curve",
}
SHORT = {"mae": "MAE", "rmse": "RMSE", "r2": "R²", "accuracy": "accuracy", "roc_auc": "AUC", "mean_roc_auc": "AUC"}
MEANING = {
    "mae": "MAE: mean absolute error, in the unit of the target.",
    "rmse": "RMSE: root of the mean squared error, in the same unit; single large errors count more.",
    "r2": "R²: 1 is perfect, 0 is as good as the mean of the true values.",
    "accuracy": "Accuracy: share of right classes.",
    "roc_auc": "AUC: area under the ROC curve; 1 is perfect, 0.5 is chance.",
    "mean_roc_auc": "AUC: area under the ROC curve, the mean over the classes; 1 is perfect, 0.5 is chance.",
}

Model = tuple[str, str, Doubles]  # name, what it is, and its predictions as scores


def score_section(fitted: Fitted) -> list[Html]:
    """The test error of each target beside those of simple models."""
    head, words = element("h2", "How good it is"), fitted.words
    if fitted.test is None:
        said = f"No {words.graphs} were held out for a test, so nothing is known about new {words.graphs}."
        return [head, element("p", said)]
    targets, scored = fitted.targets, score_models(fitted)
    shown = targets[:MOST_TARGETS]
    leads = [*_mean_lead(scored), *(_lead(fitted, target, scored[target.name]) for target in shown)]
    if len(targets) > len(shown):
        leads.append([f"A table below has the other {len(targets) - len(shown)} targets."])
    lead = [element("p", *leads[0], class_="lead")]
    if len(shown) > 1:
        lead = [element("ul", *(element("li", *of) for of in leads), class_="lead")]
    several = [target.name if len(targets) > 1 else "" for target in shown]
    tables = [
        _table(_models(fitted, target), scored[target.name], name)
        for target, name in zip(shown, several, strict=True)
        if scored[target.name][OWN]
    ]
    return [
        head,
        *lead,
        *tables,
        *([_meaning(fitted, scored[shown[0].name][OWN])] if tables else []),
        *_further(targets[MOST_TARGETS:], scored),
        *_backbone(fitted),
        *(element("p", NO_FOREST, class_="note") for _ in range(lacks_forest(fitted))),
        element("div", *_plots(fitted), *_confusion(fitted), class_="figures sided"),
    ]


def _models(fitted: Fitted, target: Target) -> list[Model]:
    """This model and the simple ones, as they are told of one target."""
    assert fitted.test is not None
    own = (OWN, "the model of this folder", as_scores(fitted.test.mean, fitted.task))
    return [own, *((model.name, model.about_target(target.column), model.prediction) for model in fitted.baselines)]


def score_models(fitted: Fitted) -> dict[str, dict[str, list[Scored]]]:
    """The scores of this model and of the simple ones on the test part, by target and by model."""
    return {
        target.name: {
            name: score_target(target, prediction, fitted.truth) for name, _, prediction in _models(fitted, target)
        }
        for target in fitted.targets
    }


def verdicts(fitted: Fitted) -> list[str]:
    """For each target that can be scored: the main metric of all models, and whether a simple one is as good."""
    said = []
    for target, scores in score_models(fitted).items():
        if own := scores[OWN]:
            name, places = METRICS[own[0].name], metric_decimals(own[0].name, own[0].value)
            of = ", ".join(f"{model} {fixed(got[0].value, places)}" for model, got in scores.items() if got)
            said.append(f"{target}, {name}: {of}. {_verdict(scores, places, fitted.words.graphs)}".rstrip())
    return said


def lacks_forest(fitted: Fitted) -> bool:
    """Whether a random forest on fingerprints could not be made, because scikit-learn is missing."""
    return bool(fitted.smiles and fitted.baselines) and not any(model.name == FOREST for model in fitted.baselines)


def _lead(fitted: Fitted, target: Target, scores: Mapping[str, Sequence[Scored]]) -> list[object]:
    """The main metric of a target, and whether a simple model is as good, in words."""
    words, own = fitted.words, scores[OWN]
    graphs = int(target.known(fitted.truth).sum())
    what = words.graph if graphs == 1 else words.graphs
    if not own:
        return [f"{target.name}: the test part has too few classes or values to be scored."]
    metric = METRICS[own[0].name]
    said = f"On {graphs} test {what} that were not used in training, the {metric} of {target.name} is "
    if len(fitted.targets) > 1:
        said = f"{target.name}: the {metric} is "
    places = metric_decimals(own[0].name, own[0].value)
    ending = f" on {graphs} test {what}. " if len(fitted.targets) > 1 else ". "
    return [said, element("strong", fixed(own[0].value, places)), ending, _verdict(scores, places, words.graphs)]


def _mean_lead(scored: Mapping[str, Mapping[str, Sequence[Scored]]]) -> list[list[object]]:
    """The mean AUC over several labels, of this model and of the best simple one, in words."""
    known = [scores for scores in scored.values() if scores[OWN]]
    if len(known) < 2 or known[0][OWN][0].name != "roc_auc":
        return []
    means = {name: float(np.mean([scores[name][0].value for scores in known])) for name in known[0]}
    own = means.pop(OWN)
    best = max(means, key=means.__getitem__, default="")
    worse = ": this model is no better than that" if best and own <= means[best] else ""
    said = f"The best simple model by this is {best}, with {means[best]:.3f}{worse}." if best else ""
    return [
        [f"Mean over {len(known)} targets: the {METRICS['roc_auc']} is ", element("strong", f"{own:.3f}"), f". {said}"]
    ]


def _verdict(scores: Mapping[str, Sequence[Scored]], places: int, graphs: str) -> str:
    """Whether the model is better than the best simple one for this target, in words."""
    own = scores[OWN][0]
    sign = 1 if higher_is_better(own.name) else -1
    rivals = {name: of[0] for name, of in scores.items() if name != OWN and of}
    if not rivals:
        return ""
    name = max(rivals, key=lambda rival: sign * rivals[rival].value)
    said = f"The best simple model is {name}, with {fixed(rivals[name].value, places)}"
    if sign * own.value <= sign * rivals[name].value:
        return f"{said}: this model is no better than that."
    return said + ("." if own.ahead_of(rivals[name]) else f"; with so few test {graphs} the lead may be chance.")


def _table(models: Sequence[Model], scores: Mapping[str, Sequence[Scored]], name: str) -> Html:
    """All metrics of all models for one target."""
    own = scores[OWN]
    places = {scored.name: metric_decimals(scored.name, scored.value) for scored in own}
    rows = [
        [
            Html(f"{text(model)}{element('small', about)}"),
            *(_value(scores[model], metric, places[metric]) for metric in places),
        ]
        for model, about, _ in models
    ]
    return table(["model", *(SHORT[metric] for metric in places)], rows, name, own=0)


def _value(scores: Sequence[Scored], name: str, places: int) -> Html:
    for scored in scores:
        if scored.name == name:
            ends = scored.interval
            below = (
                element("small", f"{fixed(ends[0], places)} to\N{NO-BREAK SPACE}{fixed(ends[1], places)}")
                if ends
                else ""
            )
            return Html(f"{fixed(scored.value, places)}{below}")
    return Html("–")


def _meaning(fitted: Fitted, own: Sequence[Scored]) -> Html:
    return element(
        "p",
        *(f"{MEANING[scored.name]} " for scored in own),
        f"The small numbers are a 95 % interval of the number for all {fitted.words.graphs} like these, of which the "
        "test part is a sample (bootstrap; for the accuracy the interval of Wilson). All models were made in the same "
        "run, from the same parts.",
        class_="note",
    )


def _further(targets: Sequence[Target], scored: Mapping[str, Mapping[str, Sequence[Scored]]]) -> list[Html]:
    """One table with the main metric of all targets that have no table of their own."""
    models = list(next(iter(scored.values())))
    rows = []
    for target in targets:
        own = scored[target.name][OWN]
        if own:
            places = metric_decimals(own[0].name, own[0].value)
            of = (_value(values, own[0].name, places) for values in scored[target.name].values())
            rows.append([target.name, SHORT[own[0].name], *of])
        else:
            rows.append([target.name, "too few to score", *("–" for _ in models)])
    if not rows:
        return []
    return [table(["target", "metric", *models], rows, "The other targets")]


def _backbone(fitted: Fitted) -> list[Html]:
    """What the words backbone and particles mean, if a model has them in its name."""
    if not any("backbone" in model.name for model in fitted.baselines):
        return []
    words = fitted.words
    said = (
        f"The backbone is the network inside this model, which passes messages along the {words.edges}. PF-GNN runs it "
        f"on several copies of each {words.graph}, with another {words.vertex} marked in each copy. These copies are "
        "the particles. The row of the backbone alone shows how good the network is without them."
    )
    return [element("p", said, class_="note")]


def target_coverages(fitted: Fitted, column: int) -> list[Coverage]:
    """The coverages of the intervals of one target; empty without intervals."""
    if fitted.test is None or fitted.calibration is None or fitted.task.loss != "l1":
        return []
    return coverages(np.abs(fitted.test.mean - fitted.truth)[:, column], fitted.calibration[column])


def _plots(fitted: Fitted) -> list[Html]:
    assert fitted.test is not None
    words = fitted.words
    if fitted.task.loss != "l1":
        curves = class_curves(fitted)
        if not curves:
            return []
        alt = "ROC curves of " + ", ".join(curves)
        of = f" of {next(iter(curves))}" if len(curves) == 1 else ""
        said = f"ROC curve{of}, from {fitted.words.graphs} with high probabilities to those with low ones. "
        return [figure(inline_svg(plot_roc(curves), "roc"), f"{said}A curve far above the line is good.", alt)]
    plots = []
    for column, name in enumerate(fitted.target_names()[:MOST_TARGETS]):
        truth, mean = fitted.truth[:, column], fitted.test.mean[:, column]
        half = {coverage.asked: coverage.half_width for coverage in target_coverages(fitted, column)}.get(BAND)
        some = f" {MOST_POINTS} of {len(truth)} {words.graphs}, drawn at random." if len(truth) > MOST_POINTS else ""
        band = f" The grey band holds {100 * BAND:g} % of new {words.graphs}." if half is not None else ""
        known = np.isfinite(truth)
        r = np.corrcoef(truth[known], mean[known])[0, 1] if known.sum() > 2 and np.ptp(truth[known]) else np.nan
        alt = f"Predicted against true {name} of {int(known.sum())} test {words.graphs}; correlation {r:.2f}"
        drawn = plot_parity(truth, mean, name, half)
        plots.append(figure(inline_svg(drawn, f"parity{column}"), f"Dots on the line are right.{band}{some}", alt))
    if len(plots) == 1:
        name = fitted.target_names()[0]
        errors = plot_histogram(
            {"test": fitted.test.mean[:, 0] - fitted.truth[:, 0]}, f"predicted minus true {name}", False
        )
        said = "Errors: above 0 the prediction is too high, below 0 too low."
        plots.append(figure(inline_svg(errors, "errors"), said, f"Histogram of predicted minus true {name}"))
    return plots


def class_curves(fitted: Fitted) -> dict[str, tuple[Doubles, npt.NDArray[np.bool_]]]:
    """For each class or label with both answers in the test part: its probabilities, and whether each graph has it.

    Two classes mirror each other, so only the rarer one of the training part is there.
    """
    assert fitted.test is not None
    truth, mean = fitted.truth, fitted.test.mean
    found = {}
    if fitted.task.loss in CLASS_LOSSES:
        known = ~np.isnan(truth[:, 0])
        named = list(enumerate(fitted.class_names()))
        if len(named) == 2:
            numbers = fitted.dataset.y[fitted.parts["train"], 0].astype(np.float64)
            named = [named[int(np.nanmean(numbers) <= 0.5)]]
        for c, name in named[:10]:
            found[name] = (mean[known, c], truth[known, 0] == c)
    else:
        for c, name in enumerate(fitted.target_names()[:MOST_TARGETS]):
            known = ~np.isnan(truth[:, c])
            found[name] = (mean[known, c], truth[known, c] > 0)
    return {plain(name): of for name, of in found.items() if of[1].any() and not of[1].all()}


def _confusion(fitted: Fitted) -> list[Html]:
    """How often each class was taken for each other one; for labels, how often each was found."""
    assert fitted.test is not None
    said, names = f"Number of test {fitted.words.graphs}", fitted.class_names()
    if fitted.task.loss in CLASS_LOSSES and len(names) <= MOST_CLASSES:
        known = ~np.isnan(fitted.truth[:, 0])
        counts = np.zeros((len(names), len(names)), dtype=np.int64)
        np.add.at(counts, (fitted.truth[known, 0].astype(np.int64), fitted.test.mean[known].argmax(axis=1)), 1)
        rows = [[name, *row] for name, row in zip(names, counts.tolist(), strict=True)]
        return [table(["true class", *(f"predicted {name}" for name in names)], rows, said)]
    if fitted.task.loss != "binary_cross_entropy":
        return []
    rows = []
    for target in fitted.targets[:MOST_CLASSES]:
        known = target.known(fitted.truth)
        has, told = fitted.truth[known, target.column] > 0, fitted.test.mean[known, target.column] >= 0.5
        cases = (has & told, has & ~told, ~has & told, ~has & ~told)
        rows.append([target.name, *(int(of.sum()) for of in cases)])
    header = ["label", "has it, found", "has it, missed", "has it not, wrong alarm", "has it not, right"]
    return [table(header, rows, said)]
