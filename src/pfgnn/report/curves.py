"""Learning curves."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from pfgnn.report.metrics_reader import Line
from pfgnn.report.picture import save_picture

LABELS = {"loss": "loss in training", "validation": "metric in validation"}
STYLES = {"loss": "--", "validation": "-"}
SMOOTHED_FROM = 30  # with fewer points a running median would hide what is there


def running_median(values: npt.NDArray[np.float64], window: int = 9) -> npt.NDArray[np.float64]:
    """The median of each value and its neighbours up to half a window away.

    Values that are not finite are left out. If none is left, the median is NaN.
    """
    near = [values[max(0, i - window // 2) : i + window // 2 + 1] for i in range(len(values))]
    return np.array([np.median(of[np.isfinite(of)]) if np.isfinite(of).any() else np.nan for of in near])


def draw_training(runs: Mapping[str, Sequence[Sequence[Line]]]) -> Figure:
    """Draw training loss (dashed) and validation metric by epoch.

    Few points are drawn as they are. From 30 points on, the single values are faint and their running median is bold.

    Args:
        runs: Metrics of the runs, by the name of their group. Each group has a colour.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    drawn: dict[str, list[npt.NDArray[np.float64]]] = {}  # finite values by what they are
    for number, (name, group) in enumerate(runs.items()):
        named = set()
        for lines in group:
            epochs = np.array([line["epoch"] for line in lines], dtype=float)
            for key, style in STYLES.items():
                values = np.array([line[key] for line in lines], dtype=float)
                finite = values[np.isfinite(values)]
                if not finite.size:  # such as a run without a validation part
                    continue
                hidden = " " if name.startswith("_") else ""  # matplotlib leaves out labels that begin with _
                label = None if key in named else f"{hidden}{name}: {LABELS[key]}"
                named.add(key)
                drawn.setdefault(key, []).append(finite)
                smooth = finite.size >= SMOOTHED_FROM
                if smooth:
                    axes.plot(epochs, values, style, color=f"C{number}", linewidth=0.6, alpha=0.15)
                    values = running_median(values)
                marker = "" if smooth else "."
                axes.plot(epochs, values, style, color=f"C{number}", linewidth=1.2, marker=marker, label=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="epoch", ylabel=", ".join(LABELS[key] for key in STYLES if key in drawn))
    if drawn:
        for text in axes.legend(frameon=False).get_texts():
            text.set_parse_math(False)  # a $ in a name is no formula
        if min(values.min() for of in drawn.values() for values in of) > 0:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def plot_training(runs: Mapping[str, Sequence[Sequence[Line]]], path: Path) -> None:
    """Write a picture of :func:`draw_training`.

    Args:
        runs: See :func:`draw_training`.
        path: Picture to write.
    """
    save_picture(draw_training(runs), path)
