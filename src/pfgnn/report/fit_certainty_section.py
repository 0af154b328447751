"""The section of the page of a fitted model that says how sure it is, and whether it is right to be."""

import numpy as np
import numpy.typing as npt

from pfgnn.data.task import CLASS_LOSSES
from pfgnn.experiments.calibration import chance_range
from pfgnn.report.fit_numbers import decimals, fixed
from pfgnn.report.fit_plots import calibration_error, plot_coverage, plot_reliability, reliability
from pfgnn.report.fit_score_section import BAND, MOST_TARGETS, class_curves, target_coverages
from pfgnn.report.fit_scores import Target
from pfgnn.report.fitted import Doubles, Fitted
from pfgnn.report.html import Html, element, figure, inline_svg, table

LEAST_GRAPHS = 20  # of a plot of probabilities; with fewer it would show chance only
TRIALS = 200  # imagined models whose probabilities are right
LEAST = 1e-9  # smallest probability, so that it has a logarithm


def certainty_section(fitted: Fitted) -> list[Html]:
    """How sure the model is, and whether it is right to be."""
    if fitted.test is None:
        return []
    found = _intervals(fitted) if fitted.task.loss == "l1" else _probabilities(fitted)
    return [element("h2", "How sure it is"), *found] if found else []


def _intervals(fitted: Fitted) -> list[Html]:
    """The intervals of each target, and how often they held the truth."""
    words, said, shown = fitted.words, [], []
    for column, name in enumerate(fitted.target_names()[:MOST_TARGETS]):
        found = target_coverages(fitted, column)
        if not found or fitted.calibration is None:
            continue
        places = decimals(found[0].half_width)
        at = next((of for of in found if of.asked == BAND), found[-1])
        said.append(
            f"{name}: {at.inside} of {at.graphs} test {words.graphs} ({100 * at.got:.0f} %) lie in their "
            f"{100 * at.asked:g} % interval, which is the prediction ± {fixed(at.half_width, places)}. It was "
            f"found on {len(fitted.calibration[column])} other {words.graphs}."
        )
        rows = [
            [
                f"{100 * of.asked:g} %",
                f"{of.inside} of {of.graphs} ({100 * of.got:.0f} %)",
                f"± {fixed(of.half_width, places)}",
            ]
            for of in found
        ]
        asked, got = (np.array([getattr(of, field) for of in found]) for field in ("asked", "got"))
        alt = f"Coverage of the intervals of {name}: " + ", ".join(f"{row[0]} asked, {row[1]} got" for row in rows)
        held, tested = len(fitted.calibration[column]), found[0].graphs
        chance = [chance_range(held, tested, of.asked) for of in found]
        drawn = inline_svg(plot_coverage(asked, got, chance, name), f"coverage{column}")
        about = (
            f"Grey: where 95 % of such tests lie if the intervals keep their promise, with {held} {words.graphs} for "
            f"calibration and {tested} for the test."
        )
        shown += [
            table(["asked", "truth in the interval", "interval"], rows, name),
            figure(drawn, about, alt),
        ]
    if not said:
        return [element("p", f"No {words.graphs} were held out for calibration, so there are no intervals.")]
    about = (
        f"An interval is the prediction plus or minus a number. This number was found on {words.graphs} that were "
        f"held out for it. The test {words.graphs} show whether the intervals keep their promise."
    )
    return [
        element("p", about),
        element("ul", *(element("li", one) for one in said)),
        element("div", *shown, class_="figures sided"),
    ]


def _probabilities(fitted: Fitted) -> list[Html]:
    """Whether the probabilities of classes or labels are right."""
    assert fitted.test is not None
    words, plots, errors = fitted.words, [], []
    said = [_log_loss(fitted, target) for target in fitted.targets[:MOST_TARGETS] if target.known(fitted.truth).any()]
    few: dict[str, int] = {}
    for number, (name, (p, positive)) in enumerate(list(class_curves(fitted).items())[:MOST_TARGETS]):
        if len(p) < LEAST_GRAPHS:
            few[name] = len(p)
            continue
        rows = reliability(p, positive)
        errors.append(f"{name} {calibration_error(rows):.3f} (by chance {chance_error(p):.3f})")
        drawn = inline_svg(plot_reliability(rows, name, words.graphs), f"reliability{number}")
        about = (
            f"{name}: dots on the line mean that the probabilities are right. The number beside a dot is its number of "
            f"{words.graphs}. Bars: 95 % intervals."
        )
        plots.append(figure(drawn, about, f"Share of {words.graphs} with {name}, by its predicted probability"))
    if errors:
        said.append(
            f"Expected calibration error, the mean distance of the dots from the line: {', '.join(errors)}. By chance: "
            f"what a model whose probabilities are all right shows with as few {words.graphs}."
        )
    if few:
        count = str(max(few.values()))
        if fitted.task.loss == "binary_cross_entropy" and len(fitted.targets) > 1:
            count = f"so few ({', '.join(f'{name}: {graphs}' for name, graphs in few.items())})"
        said.append(
            f"With {count} test {words.graphs} the probabilities cannot be checked: a plot needs {LEAST_GRAPHS} at "
            "least."
        )
    return [*(element("p", one) for one in said), element("div", *plots, class_="figures")]


def _log_loss(fitted: Fitted, target: Target) -> str:
    """The log loss of a target beside that of the constant, in words."""
    assert fitted.test is not None
    own = log_loss(target, fitted.test.mean, fitted.truth)
    said = f"The log loss of {target.name} is {own:.3f} (lower is better, 0 is perfect)"
    for model in fitted.baselines:
        if model.name == "constant":
            p = np.exp(model.prediction) if target.task.loss in CLASS_LOSSES else 1 / (1 + np.exp(-model.prediction))
            return f"{said}; a model that always gives the shares of the training part has " + (
                f"{log_loss(target, p, fitted.truth):.3f}."
            )
    return f"{said}."


def log_loss(target: Target, p: Doubles, truth: Doubles) -> float:
    """Mean of -log of the probability of what is true.

    Args:
        target: A target with classes, or a label.
        p: Probabilities, [R, C].
        truth: Targets, [R, C'].
    """
    known = target.known(truth)
    y, own = truth[known, target.column], p[known, target.outputs]
    if target.task.loss in CLASS_LOSSES:
        right = own[np.arange(len(y)), y.astype(np.int64)]
    else:
        right = np.where(y > 0, own[:, 0], 1 - own[:, 0])
    return float(-np.log(np.clip(right, LEAST, 1)).mean())


def chance_error(p: Doubles, seed: int = 0) -> float:
    """The calibration error that remains if all probabilities are right, because the graphs are few.

    Args:
        p: Predicted probabilities, [R].
        seed: Seed of the imagined answers.
    """
    answers: npt.NDArray[np.bool_] = np.random.default_rng(seed).random((TRIALS, len(p))) < p
    return float(np.mean([calibration_error(reliability(p, answer)) for answer in answers]))
