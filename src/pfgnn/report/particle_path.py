"""A picture of the path of one particle down the search tree of a graph."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from torch import Tensor

from pfgnn.argument_checks import check_positive
from pfgnn.graphs.graph import Graph
from pfgnn.model.pfgnn import PFGNN
from pfgnn.report.picture import save_picture

Shades = npt.NDArray[np.float64]


class Walk(NamedTuple):
    """The path of the particle with the largest weight after the last step, and the weights of all particles.

    Fields:
        colourings: Embeddings of the nodes before the first step and after each step, T + 1 tensors [n, D].
        vertices: The vertex that is individualised in each step, T numbers.
        weights: Weights of all particles after each step, T tensors [K].
        followed: Number of the particle on the path in each step, T numbers.
    """

    colourings: list[Tensor]
    vertices: list[int]
    weights: list[Tensor]
    followed: list[int]


@torch.no_grad()
def record_walk(model: PFGNN, graph: Graph, seed: int = 0) -> Walk:
    """Run the model on a graph without features, and follow the particle with the largest weight back to the root."""
    check_positive("the model's steps", model.steps)
    colourings: list[Tensor] = []
    handles = [r.register_forward_hook(lambda _, __, H: colourings.append(H)) for r in set(model.refine)]
    edge_index, _ = graph.directed()
    batch = torch.zeros(graph.num_nodes, dtype=torch.int64)
    trace = model(None, torch.from_numpy(edge_index), batch=batch, seed=seed).trace
    for handle in handles:
        handle.remove()
    followed = [int(trace[-1].log_weights[0].argmax())]
    for step, after in zip(reversed(trace[:-1]), reversed(trace[1:]), strict=True):
        parent = int(after.parents[0, followed[0]])  # a particle after resampling: a copy of its ancestor
        followed.insert(0, int(step.ancestors[0, parent]))
    return Walk(
        [colourings[0][:, 0], *(H[:, k] for H, k in zip(colourings[1:], followed, strict=True))],
        [int(step.vertices[0, k, 0]) for step, k in zip(trace, followed, strict=True)],
        [step.log_weights[0].exp() for step in trace],
        followed,
    )


def count_colours(H: Tensor, tolerance: float = 1e-3) -> int:
    """Number of distinct rows of H [n, D].

    Rows count as equal if their distance is at most ``tolerance`` times the largest norm of a row.
    """
    near = torch.cdist(H.double(), H.double()) <= tolerance * H.norm(dim=1).max().clamp(min=1e-12)
    return int((near.long().argmax(1) == torch.arange(len(H))).sum())  # rows that equal no earlier row


def plot_walk(walk: Walk, graph: Graph, title: str, path: Path) -> None:
    """Draw a column for each step: above the graph after the step, below the weights of all particles.

    Args:
        walk: The path to draw.
        graph: The graph.
        title: Title of the picture.
        path: Picture to write.
    """
    columns = len(walk.colourings)
    figure = Figure(figsize=(3.1 * columns, 4.6), layout="constrained")
    grid = figure.subplots(2, columns, height_ratios=[3.2, 1])
    figure.suptitle(title)
    fills = _shades(walk.colourings)
    top = max(float(w.max()) for w in walk.weights)
    for t, (above, below) in enumerate(grid.T):
        _plot_graph(graph, fills[t], walk.vertices[:t], above)
        colours = count_colours(walk.colourings[t])
        chosen = f"step {t}: individualise {walk.vertices[t - 1]}" if t else "1-WL alone"
        above.set_title(f"{chosen}\n{colours} colour{'s' if colours > 1 else ''}", fontsize=10)
        if t == 0:
            below.set_axis_off()
            below.text(0.5, 0.5, "all particles equal", ha="center", va="center", transform=below.transAxes)
            continue
        K = len(walk.weights[t - 1])
        shade = ["C1" if k == walk.followed[t - 1] else "0.75" for k in range(K)]
        below.bar(np.arange(1, K + 1), walk.weights[t - 1].numpy(), color=shade)
        below.axhline(1 / K, color="0.5", linestyle=":", linewidth=1)
        below.set(ylim=(0, 1.1 * top), xlabel="particle", ylabel="weight" if t == 1 else "")
        below.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path)


def _shades(colourings: list[Tensor]) -> list[Shades]:
    """A number in [0, 1] for each node in each step: its place on the first principal axis of the embeddings."""
    shades = []
    for H in colourings:
        centred = H.double() - H.double().mean(0)
        axis = torch.linalg.svd(centred, full_matrices=False).Vh[0]
        value = centred @ axis
        if count_colours(H) == 1:  # one shade; the nodes differ by rounding errors only
            value = torch.full_like(value, 0.5)
        else:
            value = (value - value.min()) / (value.max() - value.min())
        shades.append(value.numpy())
    return shades


def _plot_graph(
    graph: Graph, shade: np.ndarray[tuple[int], np.dtype[np.float64]], marked: list[int], axes: Axes
) -> None:
    angle = np.linspace(np.pi / 2, -3 * np.pi / 2, graph.num_nodes, endpoint=False)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    axes.add_collection(LineCollection(list(points[graph.edges]), colors="0.8", linewidths=0.6, zorder=1))
    x, y = points.T
    axes.scatter(x, y, c=shade, cmap="turbo", vmin=0, vmax=1, s=42, edgecolors="white", linewidths=0.5, zorder=2)
    for v in set(marked):
        steps = ", ".join(str(t) for t, w in enumerate(marked, start=1) if w == v)  # a vertex may be drawn twice
        axes.scatter(x[v], y[v], s=110, facecolors="none", edgecolors="black", linewidths=1.5, zorder=3)
        axes.annotate(steps, 1.16 * points[v], ha="center", va="center", fontsize=9, fontweight="bold")
    axes.set_aspect("equal")
    axes.margins(0.14)
    axes.set_axis_off()
