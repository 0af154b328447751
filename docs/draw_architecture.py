"""The picture of docs/architecture.md: the packages of pfgnn, and which ones they may import.

python docs/draw_architecture.py writes docs/architecture.png.
"""

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from pfgnn.report.picture import save_picture

# From the ground up: each package, and what it holds.
ROOMS = (
    ("graphs", "exact graph theory\n1-WL, search tree, canonical forms"),
    ("ops", "sums, norms, draws\nplain code and Triton kernels"),
    ("data", "datasets, batches,\nsplits, encodings"),
    ("model", "Algorithm 1, backbones,\nevery step a part"),
    ("training", "objective, loop,\ncheckpoints, metrics"),
    ("experiments", "configs, runs, records,\ntables as lists of runs"),
    ("report", "tables, plots, curves"),
    ("cli", "the commands"),
    ("estimators", "regressor and classifier with\nscikit-learn's conventions"),
)


def draw_house() -> Figure:
    """One box for each package, the earlier ones below. An arrow says that a package may import those below it."""
    figure = Figure(figsize=(6.4, 7.3), layout="constrained")
    axes = figure.subplots()
    for floor, (name, what) in enumerate(ROOMS):
        colour = f"C{floor}"
        axes.add_patch(FancyBboxPatch((0, floor), 5, 0.74, boxstyle="round,pad=0.04", fc=colour, ec=colour, alpha=0.18))
        axes.text(0.15, floor + 0.37, name, va="center", fontsize=12, family="monospace", weight="bold")
        axes.text(2.0, floor + 0.37, what, va="center", fontsize=9.5)
    axes.annotate("", (5.5, 0.1), (5.5, len(ROOMS) - 0.3), arrowprops={"arrowstyle": "-|>", "color": "0.3", "lw": 1.6})
    axes.text(5.62, len(ROOMS) / 2, "may import", rotation=270, va="center", fontsize=10, color="0.3")
    axes.set(xlim=(-0.1, 6), ylim=(-0.1, len(ROOMS)))
    axes.axis("off")
    return figure


if __name__ == "__main__":
    save_picture(draw_house(), Path(__file__).with_name("architecture.png"))
