"""The sections of the page of a fitted model that show data and settings."""

from typing import Any

import numpy as np

from pfgnn.data.copies import conflicts
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import FEATURES
from pfgnn.data.task import CLASS_LOSSES
from pfgnn.report.fit_numbers import decimals, fixed
from pfgnn.report.fit_plots import plain, plot_histogram
from pfgnn.report.fitted import Fitted
from pfgnn.report.html import Html, element, figure, inline_svg, table

MOST_REJECTS = 50  # that are listed


def data_section(fitted: Fitted) -> list[Html]:
    """What the data looks like: parts, sizes, targets, duplicates and rejected lines."""
    dataset, parts = fitted.dataset, {name: np.unique(graphs) for name, graphs in fitted.parts.items()}
    words, numbers = fitted.words, fitted.task.loss == "l1"
    header = ["part", words.graphs, words.vertices, words.edges, *_target_header(fitted)]
    rows = [
        [
            name,
            f"{len(graphs):,}",
            _spread(dataset.node_counts[graphs], 1),
            _spread(dataset.edge_counts[graphs] / 2, 1),
            *_target_cells(fitted, graphs),
        ]
        for name, graphs in parts.items()
    ]
    sizes = {words.vertices: dataset.node_counts}
    if not numbers:  # there is no plot of the targets to stand beside it
        sizes[words.edges] = dataset.edge_counts // 2
    plots = [
        figure(
            inline_svg(
                plot_histogram({n: of[g] for n, g in parts.items()}, f"number of {what}", True), f"sizes-{what}"
            ),
            f"Sizes of the {words.graphs}.",
            f"Histogram of the number of {what}, by part",
        )
        for what, of in sizes.items()
    ]
    if numbers:
        for column, name in enumerate(fitted.target_names()[:6]):
            values = {part: dataset.y[graphs, column].astype(np.float64) for part, graphs in parts.items()}
            svg = inline_svg(plot_histogram(values, name, False), f"target{column}")
            plots.append(figure(svg, f"Values of {plain(name)}.", f"Histogram of {name}, by part"))
    return [
        element("h2", "The data"),
        table(["fact", "value"], list(fitted.about.items())) if fitted.about else Html(""),
        table(header, rows, "Mean and range of each part"),
        *_duplicates(fitted),
        element("div", *plots, class_="figures"),
        *_rejects(fitted),
    ]


def _spread(values: Any, places: int) -> str:
    """Mean and range. Whole numbers have no decimals in their range."""
    if not len(values):
        return "–"
    ends = 0 if (values == np.rint(values)).all() else places
    return f"{fixed(values.mean(), places)} ({fixed(values.min(), ends)} to {fixed(values.max(), ends)})"


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
    every = np.abs(fitted.dataset.y[:, : len(columns)].astype(np.float64))
    places = [decimals(float(np.nanmax(column))) for column in every.T]  # the same in all parts
    return [_spread(column, of) for column, of in zip(columns, places, strict=True)]


def _duplicates(fitted: Fitted) -> list[Html]:
    """Graphs that occur several times, and in several parts, and graphs that message passing takes for others."""
    graph, graphs = fitted.words.graph, fitted.words.graphs
    if fitted.classes is None:
        return [element("p", f"`pfgnn diagnose` looks for {graphs} that occur twice; this takes long for these.")]
    classes, parts = fitted.classes, dict(fitted.parts)
    again = len(classes) - len(np.unique(classes))
    said = [f"No {graph} occurs twice."]
    if again:
        said = [f"{again:,} of {len(classes):,} {graphs} are copies of an earlier one."]
        if "train" in parts and "test" in parts:
            leaks = int(np.isin(classes[np.unique(parts["test"])], classes[parts["train"]]).sum())
            said.append(
                f"{leaks:,} {graphs} of the test part are also in the training part, so its error looks too good."
                if leaks
                else "None of the test part is also in the training part."
            )
        if wrong := conflicts(classes, fitted.dataset.y):
            said.append(f"{wrong:,} {graphs} have a copy with another target: no model can be right about all of them.")
    if fitted.wl_classes is not None:
        kinds = np.unique(np.stack([fitted.wl_classes, classes]), axis=1)
        alike = int((np.unique(kinds[0], return_counts=True)[1] - 1).sum())
        said.append(
            f"{alike:,} {graphs} look like another, different {graph} to message passing (1-WL); PF-GNN is made for "
            "those."
            if alike
            else f"Message passing alone (1-WL) can tell all different {graphs} apart."
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
    given = _file_of_graphs_like(fitted.dataset)
    commands = f"pfgnn predict {fitted.folder} {given}\npfgnn explain {fitted.folder} {given}"
    return [
        element("h2", "Use it"),
        element("pre", commands),
        element("h2", "How it was made"),
        table(["fact", "value"], [row for row in made if row[1] is not None]),
        element("h3", "All settings"),
        element("pre", fitted.config),
    ]


def _file_of_graphs_like(dataset: Dataset) -> str:
    """A name for a file of new graphs: one that can hold their features."""
    if any(dataset.node_categories == features.node_categories for features in FEATURES.values()):
        return "new.csv"
    return "new.g6" if dataset.x is None and dataset.edge_attr is None else "new.jsonl"
