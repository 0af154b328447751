"""The sections of the page of a fitted model that show graphs, data and settings."""

import math
from typing import Any

import numpy as np

from pfgnn.data.task import CLASS_LOSSES
from pfgnn.report.explanation_drawing import draw_explanation
from pfgnn.report.fit_plots import plain, plot_histogram
from pfgnn.report.fitted import Fitted, Picture
from pfgnn.report.html import Html, element, figure, inline_svg, table
from pfgnn.report.target_checks import conflicts

MOST_REJECTS = 50  # that are listed
ROUNDING = 1e-5  # relative standard errors below this are rounding errors
REASONS = {
    "worst": "The worst predictions",
    "uncertain": "The most uncertain predictions",
}


def graph_section(fitted: Fitted) -> list[Html]:
    """The worst and the most uncertain test graphs, coloured by importance."""
    if not fitted.pictures:
        return []
    parts = [
        element("h2", "Graphs to look at"),
        element(
            "p",
            "Orange parts raise the prediction, blue parts lower it: that is how much it changes without them. "
            "It is what the model does, not what is true.",
        ),
    ]
    for why, title in REASONS.items():
        chosen = [picture for picture in fitted.pictures if picture.why == why]
        if chosen:
            drawn = [_picture(fitted, picture, f"{why}{number}") for number, picture in enumerate(chosen)]
            parts += [element("h3", title), element("div", *drawn, class_="figures small")]
    if fitted.task.loss == "l1" and not any(picture.why == "uncertain" for picture in fitted.pictures):
        parts.append(element("p", "The predictions have no noise of draws, so none is more uncertain than another."))
    return parts


def _picture(fitted: Fitted, picture: Picture, name: str) -> Html:
    assert fitted.test is not None
    graph = int(fitted.test.graphs[picture.row])
    output, said = picture.output, fitted.names[picture.output]
    mean, error = (float(values[picture.row, output]) for values in (fitted.test.mean, fitted.test.error))
    noise = f" ± {error:.2g}" if error > ROUNDING * max(abs(mean), 1.0) else ""
    caption = f"Graph {graph}. {said}: {mean:.3g}{noise}; true: {_truth(fitted, picture)}."
    lines: list[Any] = [caption]
    if fitted.smiles:
        lines += [Html("<br>"), element("code", fitted.smiles[graph])]
    svg = Html(
        draw_explanation(picture.explanation, output, numbers=False).replace("<title>", f"<title id='{name}'>", 1)
    )
    alt = f"Graph {graph}, its parts coloured by their importance for {said}"
    return figure(svg, Html("".join(map(str, (element("span", lines[0]), *lines[1:])))), alt)


def _truth(fitted: Fitted, picture: Picture) -> str:
    row = fitted.truth[picture.row]
    value = float(row[0] if fitted.task.loss in CLASS_LOSSES else row[picture.output])
    if math.isnan(value):
        return "unknown"
    return fitted.class_names()[int(value)] if fitted.task.loss in CLASS_LOSSES else f"{value:.3g}"


def data_section(fitted: Fitted) -> list[Html]:
    """What the data looks like: parts, sizes, targets, duplicates and rejected lines."""
    dataset, parts = fitted.dataset, {name: np.unique(graphs) for name, graphs in fitted.parts.items()}
    header = ["part", "graphs", "vertices", "edges", *_target_header(fitted)]
    rows = [
        [
            name,
            f"{len(graphs):,}",
            _spread(dataset.node_counts[graphs]),
            _spread(dataset.edge_counts[graphs] / 2),
            *_target_cells(fitted, graphs),
        ]
        for name, graphs in parts.items()
    ]
    plots = [
        figure(
            inline_svg(
                plot_histogram({n: dataset.node_counts[g] for n, g in parts.items()}, "vertices", True), "sizes"
            ),
            "Sizes of the graphs.",
            "Histogram of the number of vertices, by part",
        )
    ]
    if fitted.task.loss == "l1":
        for column, name in enumerate(fitted.target_names()[:6]):
            values = {part: dataset.y[graphs, column].astype(np.float64) for part, graphs in parts.items()}
            drawn = inline_svg(plot_histogram(values, name, False), f"target{column}")
            plots.append(figure(drawn, f"Values of {plain(name)}.", f"Histogram of {name}, by part"))
    return [
        element("h2", "The data"),
        table(["fact", "value"], list(fitted.about.items())) if fitted.about else Html(""),
        table(header, rows, "Mean and range of each part"),
        *_duplicates(fitted),
        element("div", *plots, class_="figures"),
        *_rejects(fitted),
    ]


def _spread(values: Any) -> str:
    return f"{values.mean():.3g} ({values.min():.3g} to {values.max():.3g})" if len(values) else "–"


def _target_header(fitted: Fitted) -> list[str]:
    return fitted.class_names()[:10] if fitted.task.loss in CLASS_LOSSES else fitted.target_names()[:6]


def _target_cells(fitted: Fitted, graphs: Any) -> list[str]:
    y = fitted.dataset.y[graphs].astype(np.float64)
    if fitted.task.loss in CLASS_LOSSES:
        counts = np.bincount(y[~np.isnan(y)].astype(np.int64), minlength=fitted.task.outputs)
        return [f"{count:,}" for count in counts[:10]]
    columns = [column[~np.isnan(column)] for column in y.T[:6]]
    if fitted.task.loss != "l1":
        return [f"{int(column.sum()):,} of {len(column):,}" for column in columns]
    return [_spread(column) for column in columns]


def _duplicates(fitted: Fitted) -> list[Html]:
    """Graphs that occur several times, and in several parts, and graphs that message passing takes for others."""
    if fitted.classes is None:
        return [element("p", "`pfgnn diagnose` looks for graphs that occur twice; this takes long for these graphs.")]
    classes, parts = fitted.classes, dict(fitted.parts)
    again = len(classes) - len(np.unique(classes))
    said = ["No graph occurs twice."]
    if again:
        said = [f"{again:,} of {len(classes):,} graphs are copies of an earlier one."]
        if "train" in parts and "test" in parts:
            leaks = int(np.isin(classes[np.unique(parts["test"])], classes[parts["train"]]).sum())
            said.append(
                f"{leaks:,} graphs of the test part are also in the training part, so its error looks too good."
                if leaks
                else "None of the test part is also in the training part."
            )
        if wrong := conflicts(classes, fitted.dataset.y):
            said.append(f"{wrong:,} graphs have a copy with another target: no model can be right about all of them.")
    if fitted.wl_classes is not None:
        kinds = np.unique(np.stack([fitted.wl_classes, classes]), axis=1)
        alike = int((np.unique(kinds[0], return_counts=True)[1] - 1).sum())
        said.append(
            f"{alike:,} graphs look like another, different graph to message passing (1-WL); PF-GNN is made for those."
            if alike
            else "Message passing alone (1-WL) can tell all different graphs apart."
        )
    return [element("p", " ".join(said))]


def _rejects(fitted: Fitted) -> list[Html]:
    if not fitted.rejects:
        return []
    count, more = len(fitted.rejects), len(fitted.rejects) - MOST_REJECTS
    rest = [element("p", f"{more:,} more are in rejects.txt.", class_="note")] if more > 0 else []
    return [
        element("h3", f"{count:,} lines could not be read and were left out" if count > 1 else "1 line was left out"),
        element("ul", *(element("li", line) for line in fitted.rejects[:MOST_REJECTS])),
        *rest,
    ]


def settings_section(fitted: Fitted) -> list[Html]:
    """How to use the model, and every setting with which it was made."""
    record = fitted.record
    made = [
        [name, record[name]] for name in ("pfgnn", "commit", "torch", "python", "device", "parameters", "seed", "data")
    ]
    given = "new.csv" if fitted.smiles else "new.g6"
    commands = f"pfgnn predict {fitted.folder} {given}\npfgnn explain {fitted.folder} {given}"
    return [
        element("h2", "Use it"),
        element("pre", commands),
        element("h2", "How it was made"),
        table(["fact", "value"], [row for row in made if row[1] is not None]),
        element("h3", "All settings"),
        element("pre", fitted.config),
    ]
