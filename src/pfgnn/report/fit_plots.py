"""Plots of the page of a fitted model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pfgnn.experiments.intervals import wilson
from pfgnn.report.markup import NOT_XML

MOST_POINTS = 2000  # of a plot; more would make the page large, and nobody could tell them apart
PER_DOT, MOST_DOTS = 10, 10  # least number of graphs of a dot of predicted probabilities, and most dots
MOST_BINS = 30  # of other numbers
OWN, GUIDE = "#1f4e79", "#999999"

Doubles = npt.NDArray[np.float64]


def plain(name: str) -> str:
    """A name from a file for a plot, without characters that SVG does not allow."""
    return NOT_XML.sub("\ufffd", name)


def _axes(width: float = 4.2, height: float = 3.6) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _label(axes: Axes, x: str, y: str, title: str = "") -> None:
    for setter, words in ((axes.set_xlabel, x), (axes.set_ylabel, y), (axes.set_title, title)):
        setter(plain(words), parse_math=False)  # a $ in a name is no formula
    axes.title.set_fontsize("medium")


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[0]:
        for words in axes.legend(frameon=False, fontsize="small").get_texts():
            words.set_parse_math(False)


def _entry(name: str) -> str:
    """A name for the legend. Matplotlib leaves out those that begin with _."""
    return plain(f" {name}" if name.startswith("_") else name)


def plot_parity(truth: Doubles, prediction: Doubles, name: str, half_width: float | None) -> Figure:
    """Predicted against true values. Dots on the line are right.

    Args:
        truth: True values, [R].
        prediction: Predictions, [R].
        name: Name of the target.
        half_width: Distance of the ends of the intervals from the prediction; None if there are no intervals.
    """
    figure, axes = _axes()
    known = np.flatnonzero(np.isfinite(truth))
    if len(known) > MOST_POINTS:
        known = np.sort(np.random.default_rng(0).choice(known, MOST_POINTS, replace=False))
    x, y = truth[known], prediction[known]
    low, high = (float(f([f(x), f(y)])) for f in (np.min, np.max)) if len(known) else (0.0, 1.0)
    room = 0.05 * (high - low) or 1.0
    ends = np.array([low - room, high + room])
    axes.plot(ends, ends, color=GUIDE, linewidth=1)
    if half_width is not None:
        axes.fill_between(ends, ends - half_width, ends + half_width, color=GUIDE, alpha=0.2, linewidth=0)
    axes.scatter(x, y, s=14, color=OWN, alpha=0.5, linewidths=0)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    _label(axes, f"true {name}", f"predicted {name}")
    return figure


def plot_roc(curves: Mapping[str, tuple[Doubles, npt.NDArray[np.bool_]]]) -> Figure:
    """ROC curves: the share of positive graphs that are found, by the share of negative graphs that are taken for them.

    Args:
        curves: By the name of the class: scores [R], and whether each graph belongs to the class [R].
    """
    figure, axes = _axes()
    axes.plot([0, 1], [0, 1], color=GUIDE, linewidth=1)
    for number, (name, (scores, positive)) in enumerate(curves.items()):
        x, y = roc(scores, positive)
        axes.plot(x, y, color=f"C{number % 10}", label=_entry(name))
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    _label(axes, "share of wrong alarms", "share found")
    if len(curves) > 1:
        _legend(axes)
    return figure


def roc(scores: Doubles, positive: npt.NDArray[np.bool_]) -> tuple[Doubles, Doubles]:
    """The corners of a ROC curve: shares of wrong alarms and shares found. Equal scores are one step."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=np.nan) != 0)  # the last graph of each score
    found, wrong = (np.cumsum(of[order])[ends] for of in (positive, ~positive))
    return tuple(np.concatenate([[0.0], of / max(of[-1], 1)]) for of in (wrong, found))  # type: ignore[return-value]


def plot_coverage(asked: Doubles, got: Doubles, chance: Sequence[tuple[float, float]], name: str) -> Figure:
    """The share of test graphs whose interval holds the truth, against the share that was asked for.

    Args:
        asked: Coverages that were asked for.
        got: Coverages on the test graphs.
        chance: For each the range in which 95 % of such tests lie if the intervals keep their promise.
        name: Name of the target.
    """
    figure, axes = _axes()
    axes.plot([0, 1], [0, 1], color=GUIDE, linewidth=1)
    low, high = np.array(chance).T
    axes.vlines(asked, low, high, color=GUIDE, linewidth=5, alpha=0.5)
    axes.plot(asked, got, "o", color=OWN, markersize=4)
    axes.set(xlim=(0.4, 1.02), ylim=(min(low.min() - 0.02, got.min() - 0.02, 0.3), 1.02))
    _label(axes, "coverage asked for", "coverage in the test", name)
    return figure


def _bars(axes: Axes, x: Doubles, shares: Doubles, counts: npt.NDArray[np.int64]) -> float:
    """Draw shares with their 95 % intervals, which never leave 0 to 1. Returns the lowest end."""
    ends = [wilson(share, count) for share, count in zip(shares.tolist(), counts.tolist(), strict=True)]
    low, high = np.array(ends).T
    lengths = np.maximum([shares - low, high - shares], 0.0)  # rounding may make one slightly negative
    axes.errorbar(x, shares, lengths, fmt="o", color=OWN, markersize=4, capsize=2)
    return float(low.min())


def reliability(p: Doubles, truth: npt.NDArray[np.bool_]) -> list[tuple[float, float, int]]:
    """Graphs with similar probabilities: mean probability, share of positive graphs, number of graphs.

    Few graphs make few groups: each has 10 graphs at least, and there are 10 groups at most.

    Args:
        p: Predicted probabilities, [R].
        truth: Whether each graph is positive, [R].
    """
    groups = np.array_split(np.argsort(p, kind="stable"), max(min(len(p) // PER_DOT, MOST_DOTS), 1))
    return [(float(p[of].mean()), float(truth[of].mean()), len(of)) for of in groups if len(of)]


def calibration_error(rows: Sequence[tuple[float, float, int]]) -> float:
    """The expected calibration error: mean distance between probability and share, over the graphs."""
    return sum(count * abs(p - share) for p, share, count in rows) / sum(count for _, _, count in rows)


def plot_reliability(rows: Sequence[tuple[float, float, int]], name: str, graphs: str) -> Figure:
    """The share of positive graphs against the predicted probability, see :func:`reliability`.

    Args:
        rows: The dots.
        name: What the probability is of.
        graphs: What the graphs are called.
    """
    figure, axes = _axes()
    axes.plot([0, 1], [0, 1], color=GUIDE, linewidth=1)
    p, share, count = (np.array(column) for column in zip(*rows, strict=True))
    _bars(axes, p, share, count)
    for x, y, n in rows:
        right = x < 0.8  # on the side of the dot where there is more room
        side = "left" if right else "right"
        shift = (5 if right else -5, 3)
        axes.annotate(f"{n}", (x, y), shift, textcoords="offset points", ha=side, fontsize="small", color="#333333")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.06), aspect="equal")
    _label(axes, f"predicted probability of {name}", f"share of {graphs} with {name}")
    return figure


def plot_histogram(parts: Mapping[str, npt.NDArray[Any]], name: str, whole: bool) -> Figure:
    """The share of graphs by a number, one line for each part.

    Args:
        parts: The numbers of the graphs of each part.
        name: What the number is.
        whole: Whether the numbers are whole, so that each bin holds as many of them.
    """
    figure, axes = _axes(4.2, 3.0)
    known = {part: values[np.isfinite(values)].astype(np.float64) for part, values in parts.items()}
    known = {part: values for part, values in known.items() if values.size}
    low, high = (f([f(values) for values in known.values()]) for f in (np.min, np.max)) if known else (0.0, 1.0)
    # A small part needs wide bins to look like anything.
    bins = int(np.clip(2 * min(map(len, known.values()), default=1) ** (1 / 3), 5, MOST_BINS))
    if whole:
        step = np.ceil((high - low + 1) / bins)
        edges = np.arange(low - 0.5, high + step, step)
    else:
        edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    for number, (part, values) in enumerate(known.items()):
        heights = np.histogram(values, edges)[0] / values.size
        fill = number == 0
        axes.stairs(heights, edges, color=f"C{number}", label=_entry(part), fill=fill, alpha=0.4 if fill else 1)
    _label(axes, name, "share of the part")
    _legend(axes)
    return figure
