"""Learning curves."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from pfgnn.report.metrics_reader import Line
from pfgnn.report.picture import save_picture

UNKNOWN = "metric"  # of a run that has no result yet
WINDOW = 9  # of the running median
SPAN = 3  # values that differ by a larger factor have a logarithmic axis
SMOOTHED_FROM = 30  # with fewer points a running median would hide what is there

Runs = Mapping[str, Sequence[Sequence[Line]]]  # metrics of the runs, by the name of their group


def running_median(values: npt.NDArray[np.float64], window: int = WINDOW) -> npt.NDArray[np.float64]:
    """The median of each value and its neighbours up to half a window away.

    Values that are not finite are left out. If none is left, the median is NaN.
    """
    near = [values[max(0, i - window // 2) : i + window // 2 + 1] for i in range(len(values))]
    return np.array([np.median(of[np.isfinite(of)]) if np.isfinite(of).any() else np.nan for of in near])


def draw_training(runs: Runs, metrics: Mapping[str, str] | None = None) -> Figure:
    """Draw the training loss by epoch, and below it each validation metric that some run has.

    They have axes of their own, because their units differ.

    Args:
        runs: See :func:`draw_curve`.
        metrics: The validation metric of each group, if it is known.
    """
    named = {name: (metrics or {}).get(name, UNKNOWN) for name in runs}
    drawn = [("loss", "loss in training", list(runs))]
    for metric in dict.fromkeys(named.values()):
        groups = [name for name in runs if named[name] == metric]
        if _values({name: runs[name] for name in groups}, "validation").size:
            drawn.append(("validation", f"{metric} in validation", groups))
    figure = Figure(figsize=(7, 1 + 3 * len(drawn)), layout="constrained")
    panels = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (key, label, groups) in zip(panels, drawn, strict=True):
        _draw(axes, runs, key, label, groups)
    for axes in figure.axes[:-1]:
        axes.set_xlabel("")
    return figure


def draw_curve(runs: Runs, key: str, label: str) -> Figure:
    """Draw one number of the training by epoch.

    Few points are drawn as they are. From 30 points on, the single values are faint and their running median is bold.

    Args:
        runs: Metrics of the runs, by the name of their group. Each group has a colour.
        key: "loss" or "validation".
        label: What it is, with its unit, for the axis.
    """
    figure = Figure(figsize=(4.2, 3.4), layout="constrained")
    _draw(figure.subplots(), runs, key, label, list(runs))
    return figure


def _values(runs: Runs, key: str) -> npt.NDArray[np.float64]:
    """All finite values of a number."""
    values = np.array([line[key] for group in runs.values() for lines in group for line in lines], dtype=float)
    return values[np.isfinite(values)]


def _draw(axes: Axes, runs: Runs, key: str, label: str, groups: Sequence[str]) -> None:
    """Draw a number of some groups. A group has the same colour in all panels."""
    for number, (name, group) in enumerate(runs.items()):
        if name not in groups:
            continue
        # Matplotlib leaves out labels that begin with _.
        legend: str | None = f" {name}" if name.startswith("_") else name
        for lines in group:
            epochs = np.array([line["epoch"] for line in lines], dtype=float)
            values = np.array([line[key] for line in lines], dtype=float)
            count = int(np.isfinite(values).sum())
            if not count:  # such as a run without a validation part
                continue
            smooth = count >= SMOOTHED_FROM
            if smooth:
                axes.plot(epochs, values, color=f"C{number}", linewidth=0.6, alpha=0.3)
                values = running_median(values)
            marker = "" if smooth else "."
            axes.plot(epochs, values, color=f"C{number}", linewidth=1.2, marker=marker, label=legend)
            legend = None
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("epoch")
    axes.set_ylabel(label, parse_math=False)  # a $ in a name is no formula
    axes.spines[["top", "right"]].set_visible(False)
    drawn = _values({name: runs[name] for name in groups}, key)
    if not drawn.size:
        return
    for text in axes.legend(frameon=False, fontsize="small").get_texts():
        text.set_parse_math(False)
    if drawn.min() > 0 and drawn.max() > SPAN * drawn.min():
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def plot_training(runs: Runs, path: Path, metrics: Mapping[str, str] | None = None) -> None:
    """Write a picture of :func:`draw_training`.

    Args:
        runs: See :func:`draw_curve`.
        path: Picture to write.
        metrics: See :func:`draw_training`.
    """
    save_picture(draw_training(runs, metrics), path)
