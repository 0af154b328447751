"""The time of a training step by the number of particles K, of steps T and of vertices n."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.measure import Rates, Record, measure
from benchmarks.shapes import OURS, ZINC, Shape, molecules_of
from benchmarks.steps import Effort
from pfgnn.report.picture import save_picture

PARTICLES, STEPS, OUR_STEPS = (1, 2, 4, 8, 16, 32, 64), tuple(range(1, 9)), (1, 2, 3, 4)
NODES = (20, 50, 100, 200, 500, 1000, 2000)
GRAPHS = 8  # graphs in a batch when their size grows
MEANINGS = {"K": "particles K", "T": "steps T", "n": "vertices n of a graph"}


def grown(nodes: int) -> Shape:
    """Our method on graphs of one size."""
    return OURS._replace(batch=GRAPHS, graphs=molecules_of(nodes))


def scaling(device: str, effort: Effort, rates: Rates) -> Iterator[Record]:
    """Measure pfgnn for growing K, T and n, the others fixed, and fit a straight line to each."""
    effort = replace(effort, batches=min(effort.batches, 2))
    lines: dict[str, dict[str, tuple[Sequence[int], list[Shape]]]] = {
        "the paper's model": {
            "K": (PARTICLES, [ZINC.resized(particles=K) for K in PARTICLES]),
            "T": (STEPS, [ZINC.resized(steps=T) for T in STEPS]),
        },
        "our method": {
            "K": (PARTICLES, [OURS.resized(particles=K) for K in PARTICLES]),
            "T": (OUR_STEPS, [OURS.resized(steps=T) for T in OUR_STEPS]),
            "n": (NODES, [grown(n) for n in NODES]),
        },
    }
    found: Record = {}
    for model, letters in lines.items():
        found[model] = {}
        for letter, (values, shapes) in letters.items():
            of = [measure(shape, device, effort, rates) for shape in shapes]
            times, floors = ([one[key] for one in of] for key in ("median ms", "floor ms"))
            fit = linear_fit(values, times)
            found[model][letter] = {"values": list(values), "median ms": times, "floor ms": floors, **fit}
            yield found


def linear_fit(x: Sequence[int], y: list[float]) -> Record:
    """Fit y ≈ intercept + slope x, and find whether y grows at most linearly in x.

    This is tested between neighbouring values ("at most linear"), and between the first value and each other one.
    """
    slope, intercept = np.polyfit(x, y, 1)
    residual = np.asarray(y) - (intercept + slope * np.asarray(x))
    spread = float(np.var(y))
    steepest = max(math.log(b / a) / math.log(v / u) for a, b, u, v in zip(y, y[1:], x, x[1:], strict=False))
    return {
        "intercept ms": float(intercept),
        "slope ms": float(slope),
        "R²": 1 - float(np.var(residual)) / spread if spread else 1.0,
        "steepest exponent": steepest,
        "at most linear": steepest <= 1,
        "at most linear since the first": all(b / y[0] <= v / x[0] for b, v in zip(y, x, strict=True)),
    }


def draw_scaling(found: Record, path: Path) -> None:
    """Draw the time of a step by K, T and n, with the straight lines, one row for each model."""
    rows = [[(model, letter) for letter in letters] for model, letters in found.items()]
    figure = Figure(figsize=(11, 3.1 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
    for axes in grid.flatten():
        axes.set_visible(False)
    for row, places in zip(grid, rows, strict=True):
        for axes, (model, letter) in zip(row, places, strict=False):
            of, x = found[model][letter], np.asarray(found[model][letter]["values"])
            axes.set_visible(True)
            axes.plot(x, of["median ms"], "o", label="measured")
            axes.plot(x, of["intercept ms"] + of["slope ms"] * x, color="0.6", label="best straight line", zorder=1)
            axes.set(xlabel=MEANINGS[letter], ylabel="ms a training step", ylim=(0, None), title=model)
            axes.legend()
    save_picture(figure, path)
