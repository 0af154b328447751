"""Which vertices and edges a prediction of a finished run depends on.

The importance of a vertex is

    importance(v) = f(G) - f(G without v),

the prediction for the graph minus the prediction for the graph without this vertex and its edges. The importance of an
edge is the same with the edge removed. So a positive importance means that the part raises the prediction. It is
averaged over independent draws, and its standard error comes with it.

Noise: both predictions use the same random numbers, and each vertex keeps its own. With ``sampling: independent`` most
of the noise of the difference cancels then. With ``distinct`` little cancels, because its draws depend on the whole
graph. There, more particles help most: with T = 1 and at least as many particles as vertices nothing is left to chance.
Then there is one draw, and the result is exact.

What it is: a fact about the model, in the units of the prediction. It costs one prediction for each vertex and edge.

What it is not:

- It is no fact about the world. A model that predicts badly has importances too.
- It is no division of the prediction into shares. Importances need not add up to the prediction. If either of two
  vertices is enough for the model, both have importance 0.
- A graph that lacks a vertex may look like no graph of the training, such as half a molecule. The model answers
  nevertheless. The features of the other vertices, such as their number of hydrogens, stay as they were. Encodings are
  computed again.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pfgnn.argument_checks import check_positive
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Resident
from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.experiments.draw_mean import MeanOfDraws
from pfgnn.experiments.given_graphs import GivenGraph
from pfgnn.experiments.predict import TrainedRun
from pfgnn.experiments.removals import Removal, remove_parts, undirected_edges
from pfgnn.graphs.arrays import IntArray
from pfgnn.setting_types import check_draws
from pfgnn.training.evaluate import Draws
from pfgnn.training.finite import check_predictions

MOST_ROWS = 2**18  # nodes and edges of the copies that are predicted at a time, unless one copy has more

Tell = Callable[[int, int], None]


class Importance(NamedTuple):
    """Importances of P vertices or edges for C outputs, see :func:`explain_graph`.

    A vertex has NaN if nothing would be left without it: the only vertex of a graph, or the vertex that is predicted.

    Fields:
        mean: Mean over the draws, [P, C].
        error: Monte Carlo standard error of the mean, [P, C].
    """

    mean: Tensor
    error: Tensor


class Explanation(NamedTuple):
    """What a prediction depends on.

    Fields:
        names: Names of the C outputs.
        prediction: Mean of the prediction over the draws, [C].
        error: Its Monte Carlo standard error, [C].
        vertices: Importance of each of n vertices.
        edges: Importance of each of m edges.
        ends: Both ends of each edge, the smaller one first, [m, 2].
        node: The vertex whose prediction it is; None at graph level.
        smiles: The molecule; None if the graph was not given as SMILES.
        features: Name of its features in :data:`pfgnn.data.molecules.FEATURES`, which decide the order of its atoms.
        exact: Whether nothing was left to chance. Then there was one draw, and all errors are 0.
    """

    names: list[str]
    prediction: Tensor
    error: Tensor
    vertices: Importance
    edges: Importance
    ends: IntArray
    node: int | None = None
    smiles: str | None = None
    features: str | None = None
    exact: bool = False


def explain_graph(
    run: TrainedRun,
    graph: GivenGraph,
    draws: int = 16,
    particles: int | None = None,
    seed: int | None = None,
    *,
    node: int | None = None,
    progress: Tell = lambda done, count: None,
) -> Explanation:
    """Find out which vertices and edges a prediction depends on.

    The importance of a part is the prediction for the graph minus the prediction without this part. So a positive one
    means that the part raises the prediction. It tells what the model does, not what is true.

    Args:
        run: A finished run, see :func:`pfgnn.load_run`.
        graph: A SMILES, a graph6 string, a :class:`pfgnn.Graph`, a networkx graph or PyG ``Data``, with the features of
            the run.
        draws: R, number of draws, at least 2. The standard error is the standard deviation of the draws divided by √R.
            If the particles can go through all paths of the search tree, one draw is exact, and no more are made.
        particles: K; None for ``evaluation.particles`` of the run.
        seed: Seed of the draws; None for that of the run.
        node: Number of the vertex whose prediction is explained, for a run at node level.
        progress: Called after each draw of some copies with the predictions done, and the number of all of them.
    """
    if not isinstance(run, TrainedRun):
        raise InputTypeError(f"run must be what load_run returns, but it is {shown(run)}")
    smiles = graph if isinstance(graph, str) and run.needs.molecules is not None else None
    prepared = run.prepare([graph])
    return explain_prepared(run, prepared, draws, particles, seed, node=node, smiles=smiles, progress=progress)


def explain_prepared(
    run: TrainedRun,
    graph: Dataset,
    draws: int = 16,
    particles: int | None = None,
    seed: int | None = None,
    *,
    node: int | None = None,
    smiles: str | None = None,
    progress: Tell = lambda done, count: None,
) -> Explanation:
    """Explain the prediction of a graph that was prepared for the model.

    Args:
        run: The run.
        graph: A dataset of one graph.
        draws: See :func:`explain_graph`, as for all other arguments.
        particles: K.
        seed: Seed of the draws.
        node: The vertex that is predicted.
        smiles: The molecule; None if the graph is none.
        progress: Called with the predictions done.
    """
    check_draws(draws, particles)
    n, ends = int(graph.node_counts[0]), undirected_edges(graph)
    _check_node(run, node, n)
    removals = [Removal(vertex=v) for v in range(n) if n > 1 and v != node]
    removals += [Removal(edge=(u, v)) for u, v in ends.tolist()]
    exact = bool(run.is_exact(np.array([n]), particles)[0])  # the trees of the copies have no more paths
    if exact:
        draws = 1
        if run.config.model.exchange in ("none", "mark"):  # the mean over all particles would depend on K
            particles = min(run.particles(particles), n**run.config.model.steps)
    how = run.draws(draws, seed)
    done, total = 0, draws * (1 + len(removals))

    def predict(parts: list[Removal]) -> Iterator[Tensor]:
        """The predictions of some copies, [P, C], draw by draw."""
        nonlocal done
        for output in _predict(run, graph, parts, how, particles, node):
            done += len(parts)
            progress(done, total)
            yield output

    whole = list(predict([Removal()]))  # R times [1, C]
    prediction, means, errors = MeanOfDraws(), [], []
    for output in whole:
        prediction.add(output[0])
    for parts in _cut(removals, n + graph.edges.shape[1], how.batch_size):
        difference = MeanOfDraws()
        for full, without in zip(whole, predict(parts), strict=True):
            difference.add(full - without)
        means.append(difference.mean)
        errors.append(torch.zeros_like(difference.mean) if exact else difference.error)

    def of_vertices(rows: Tensor) -> Tensor:
        """The rows of all vertices, NaN for those that cannot be removed."""
        filled = rows.new_full((n, rows.shape[1]), torch.nan)
        filled[[removal.vertex for removal in removals if removal.vertex is not None]] = rows
        return filled

    empty = prediction.mean.new_zeros(0, len(prediction.mean))
    mean, error = (torch.cat([empty, *rows]) for rows in (means, errors))
    vertices = len(removals) - len(ends)
    error = run.without_rounding(error, prediction.mean)
    return Explanation(
        run.names,
        prediction.mean,
        torch.zeros_like(prediction.mean) if exact else run.without_rounding(prediction.error, prediction.mean),
        Importance(of_vertices(mean[:vertices]), of_vertices(error[:vertices])),
        Importance(mean[vertices:], error[vertices:]),
        ends,
        node,
        smiles,
        None if smiles is None else run.needs.molecules,
        exact,
    )


def _predict(
    run: TrainedRun, graph: Dataset, parts: list[Removal], how: Draws, particles: int | None, node: int | None
) -> Iterator[Tensor]:
    """The predictions of copies that lack a part each, [P, C], draw by draw.

    The nodes of a copy have the random numbers of the vertices that they are. All copies have the key of the graph.
    """
    copies = remove_parts(graph, parts, run.needs)
    data = Resident(copies.dataset, run.devices.device)
    numbers, name = np.arange(len(parts)), 0 if graph.key is None else int(graph.key[0])
    batch = data.collate(numbers).with_fields(node_key=torch.from_numpy(copies.vertices).to(run.devices.device))
    rows = slice(None) if node is None else torch.from_numpy(np.flatnonzero(copies.vertices == node))
    pad = data.multiples(numbers, how.batch_size)
    for number in range(how.count):
        output = run.forward(particles)(batch, how.seed + number, pad).cpu()
        check_predictions(output, data, numbers, run.model, np.full(len(parts), name))
        yield run.predictions(output[rows])


def _cut(removals: list[Removal], rows: int, batch_size: int) -> Iterator[list[Removal]]:
    """Cut the removals into batches. ``rows`` is the number of nodes and edges of one copy."""
    size = max(1, min(batch_size, MOST_ROWS // rows))
    return (removals[first : first + size] for first in range(0, len(removals), size))


def _check_node(run: TrainedRun, node: int | None, n: int) -> None:
    if run.task.level != "node":
        if node is not None:
            raise InputError(f"node must be given for a run at node level only, but it is {node}")
        return
    if node is None:
        raise InputError(f"node must be given for a run at node level: the vertex to explain, from 0 to {n - 1}")
    check_positive("node", node, least=0, most=n - 1)
