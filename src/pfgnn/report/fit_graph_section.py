"""The section of the page of a fitted model that shows single test graphs."""

import math

import numpy as np

from pfgnn.data.task import CLASS_LOSSES
from pfgnn.report.explanation_drawing import draw_explanation
from pfgnn.report.fit_numbers import decimals, fixed
from pfgnn.report.fitted import Fitted, Picture, target_scale
from pfgnn.report.html import Html, element, figure
from pfgnn.report.shades import ERRORS, WEAK

ROUNDING = 1e-5  # relative standard errors below this are rounding errors


def graph_section(fitted: Fitted) -> list[Html]:
    """The test graphs to look at, coloured by importance."""
    if not fitted.pictures:
        return []
    words = fitted.words
    parts = [
        element("h2", f"{words.graphs.capitalize()} to look at"),
        element(
            "p",
            f"The colour of a part says how much the prediction changes without it. Orange parts raise the prediction, "
            f"blue parts lower it. The scale below each picture says by how much, in the unit of the prediction. Parts "
            f"without a colour change it by less than {100 * WEAK:g} % of the strongest part, or by no more than "
            f"{ERRORS:g} standard errors. This is what the model does, not what is true.",
        ),
    ]
    kinds = {
        "worst": ("The worst predictions", ""),
        "uncertain": ("The most uncertain predictions", ""),
        "unlike": (f"Least like the training {words.graphs}", _about_unlike(fitted)),
    }
    for why, (title, about) in kinds.items():
        chosen = [picture for picture in fitted.pictures if picture.why == why]
        if chosen:
            drawn = [_picture(fitted, picture, f"{why}{number}") for number, picture in enumerate(chosen)]
            parts += [element("h3", title), *([element("p", about)] if about else [])]
            parts.append(element("div", *drawn, class_="figures small"))
    return parts


def _about_unlike(fitted: Fitted) -> str:
    """What the distance is, and whether the graphs that are far away have larger errors."""
    assert fitted.test is not None
    words = fitted.words
    rows = [picture.row for picture in fitted.pictures if picture.why == "unlike"]
    errors = np.abs(fitted.test.mean - fitted.truth) if fitted.task.loss == "l1" else np.zeros((0, 0))
    said = []
    for name, column in zip(fitted.target_names(), errors.T, strict=False):
        if np.isfinite(column[rows]).any():
            every = float(np.nanmean(column))
            places = decimals(every)
            said.append(f"{name} {fixed(float(np.nanmean(column[rows])), places)} (all: {fixed(every, places)})")
    return (
        f"The model compares {words.graphs} by lists of numbers (embeddings), from which it predicts. These test "
        f"{words.graphs} are farthest from their five nearest training {words.graphs}. The model has learned from few "
        f"{words.graphs} like them, so trust these predictions less. Their mean absolute error, beside that of all "
        f"test {words.graphs}: {', '.join(said) or 'unknown'}."
    )


def _picture(fitted: Fitted, picture: Picture, name: str) -> Html:
    assert fitted.test is not None
    output, said = picture.output, fitted.names[picture.output]
    called = _called(fitted, picture.row)
    mean, error = (float(values[picture.row, output]) for values in (fitted.test.mean, fitted.test.error))
    places = _places(fitted, output)
    noise = f" ± {error:.2g}" if error > ROUNDING * max(abs(mean), 1.0) else ""
    caption = [
        element("strong", called),
        Html("<br>"),
        f"{said}: {fixed(mean, places)}{noise}; {_truth(fitted, picture, places)}.",
    ]
    if picture.note:
        caption.append(f" {picture.note}")
    if fitted.smiles:
        caption += [Html("<br>"), element("code", fitted.smiles[int(fitted.test.graphs[picture.row])])]
    svg = Html(
        draw_explanation(picture.explanation, output, numbers=False).replace("<title>", f"<title id='{name}'>", 1)
    )
    return figure(svg, element("span", *caption), f"{called}, its parts coloured by their importance for {said}")


def _called(fitted: Fitted, row: int) -> str:
    """What a test graph is called in the input, or its number."""
    assert fitted.test is not None
    number = f"{fitted.words.graph} {int(fitted.test.graphs[row])}"
    return fitted.test.labels[row] or number if fitted.test.labels else number


def _places(fitted: Fitted, output: int) -> int:
    """Decimals of the predictions of an output, the same for all graphs."""
    if fitted.task.loss != "l1":
        return 3
    return decimals(float(target_scale(fitted.dataset, fitted.parts["train"])[output]))


def _truth(fitted: Fitted, picture: Picture, places: int) -> str:
    assert fitted.test is not None
    row = fitted.truth[picture.row]
    value = float(row[0] if fitted.task.loss in CLASS_LOSSES else row[picture.output])
    if math.isnan(value):
        return "true: unknown"
    if fitted.task.loss in CLASS_LOSSES:
        return f"true: {fitted.class_names()[int(value)]}"
    if fitted.task.loss != "l1":
        return f"true: {value:.0f}"
    error = float(fitted.test.mean[picture.row, picture.output]) - value
    return f"true: {fixed(value, places)}, off by {error:+.{places}f}"
