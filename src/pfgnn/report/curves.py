"""Learning curves."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from pfgnn.report.metrics_reader import Line
from pfgnn.report.picture import save_picture

LABELS = {"loss": "loss in training", "validation": "metric in validation"}


def running_median(values: npt.NDArray[np.float64], window: int = 9) -> npt.NDArray[np.float64]:
    """The median of each value and its neighbours up to half a window away.

    Values that are not finite are left out. If none is left, the median is NaN.
    """
    near = [values[max(0, i - window // 2) : i + window // 2 + 1] for i in range(len(values))]
    return np.array([np.median(of[np.isfinite(of)]) if np.isfinite(of).any() else np.nan for of in near])


def plot_training(runs: Mapping[str, Sequence[Sequence[Line]]], path: Path) -> None:
    """Draw training loss (dashed) and validation metric by epoch: faint single values, a bold running median.

    Args:
        runs: Metrics of the runs, by the name of their group. Each group has a colour.
        path: Picture to write.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for number, (name, group) in enumerate(runs.items()):
        for place, lines in enumerate(group):
            epochs = np.array([line["epoch"] for line in lines], dtype=float)
            for key, style in (("loss", "--"), ("validation", "-")):
                values = np.array([line[key] for line in lines], dtype=float)
                if np.isnan(values).all():  # a run without a validation part
                    continue
                colour, label = f"C{number}", f"{name}: {LABELS[key]}" if place == 0 else None
                axes.plot(epochs, values, style, color=colour, linewidth=0.6, alpha=0.15)
                axes.plot(epochs, running_median(values), style, color=colour, linewidth=1.2, label=label)
    axes.set(xlabel="epoch", yscale="log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path)
