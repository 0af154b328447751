"""Learning curves."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pfgnn.report.picture import save_picture


def draw_curves(curves: Mapping[str, Sequence[float]], chance: float, path: Path) -> None:
    """Training accuracy by update, one smoothed line a model over its raw values, and the level of chance."""
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.subplots()
    for number, (name, values) in enumerate(curves.items()):
        updates, colour = np.arange(1, len(values) + 1), f"C{number}"
        window = min(15, len(values))
        smooth = np.convolve(values, np.ones(window) / window, mode="valid")
        axes.plot(updates, 100 * np.asarray(values), color=colour, alpha=0.2, linewidth=0.8)
        axes.plot(updates[window - 1 :], 100 * smooth, color=colour, linewidth=2, label=name)
    axes.axhline(100 * chance, color="0.5", linestyle=":", linewidth=1, label="chance")
    axes.set(xlabel="update", ylabel="accuracy on fresh graphs, %", ylim=(0, 103))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path)
