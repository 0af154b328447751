"""Are two graphs different to PF-GNN? Nothing is trained: the backbone is colour refinement, the readout is random."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from pfgnn.argument_checks import check_positive, checked
from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError, OutOfMemoryError, out_of_memory
from pfgnn.experiments.build import build_model, describe
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.pair_test import Sampler
from pfgnn.graphs.arrays import Array, least_connected, rank_rows
from pfgnn.graphs.graph import Graph
from pfgnn.model.colours import ColourRefinement
from pfgnn.setting_types import MOST_LAYERS, MOST_PATHS
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.distinguish import COLUMNS, PUBLISHED, hotelling, paired_t2, threshold
from pfgnn.training.evaluate import Forward

WIDTH, ROUNDS = 32, 16  # of the colour refinement
NUMBERS_AT_ONCE = 2**25  # in the embeddings that are refined at once, 128 MB in float32


class Evidence(NamedTuple):
    """What PF-GNN says about two graphs with T steps.

    Fields:
        steps: T.
        particles: K.
        paths: Number of paths of T vertices. With K = paths all are used, and the outputs hardly differ.
        t2: T² between the outputs of both graphs, see :mod:`pfgnn.training.distinguish`.
        control_t2: T² between two samples of the same graph, for both graphs and perhaps several times.
        threshold: The value that T² of isomorphic graphs exceeds with a probability of at most the level.
        published_t2: T² as BREC's rule computes it, see :func:`pfgnn.training.distinguish.paired_t2`.
        published_control_t2: The same between two samples of the same graph.
        updates: Updates of the training before; 0 if nothing was trained.
    """

    steps: int
    particles: int
    paths: int
    t2: float
    control_t2: tuple[float, ...]
    threshold: float
    published_t2: float
    published_control_t2: tuple[float, ...]
    updates: int = 0

    @property
    def told_apart(self) -> bool:
        """Whether the graphs are told apart, and neither of them from itself."""
        return self.t2 > self.threshold >= max(self.control_t2)

    @property
    def published_told_apart(self) -> bool:
        """The same by the rule of BREC."""
        return self.published_t2 > PUBLISHED >= max(self.published_control_t2)


@checked
def compare_graphs(
    left: Graph,
    right: Graph,
    *,
    steps: int = 3,
    particles: int = 4096,
    draws: int = 32,
    level: float = 1e-6,
    seed: int = 0,
    device: str = "auto",
    progress: Callable[[int, int, int], None] = lambda steps, done, total: None,
) -> Iterator[Evidence]:
    """Compare two graphs with T = 0, 1, 2, ... steps, until they are told apart.

    If one of the graphs were a relabelled copy of the other, they would be told apart with a probability of at most
    ``level`` (for normal outputs).

    Args:
        left: A graph.
        right: The other one.
        steps: Largest T.
        particles: Largest K. With fewer than K paths all paths are used.
        draws: Outputs of each graph that are compared. Each is computed on a fresh relabelling.
        level: Level of all tests together.
        seed: Seed of everything that is drawn.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        progress: Called with T, the number of outputs that were computed with T steps, and how many there will be.
    """
    check_positive("steps", steps, least=0, most=MOST_LAYERS)
    check_positive("particles", particles, most=MOST_PATHS)
    dataset, devices = same_labels([left, right]), open_devices(device)
    rounds = min(max(ROUNDS, *(2 * _reach(graph) for graph in (left, right))), MOST_LAYERS)
    limit = shared_threshold(steps + 1, draws, level)
    for T in range(steps + 1):
        shown = partial(progress, T)
        found = compare_with(dataset, T, particles, draws, limit, seed, devices, rounds=rounds, progress=shown)
        yield found
        if found.told_apart:
            return


def compare_with(
    dataset: Dataset,
    steps: int,
    particles: int,
    draws: int,
    limit: float,
    seed: int,
    devices: Devices,
    controls: int = 1,
    rounds: int = ROUNDS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Evidence:
    """Compare the two graphs of a dataset with T steps.

    The other arguments are those of :func:`compare_graphs` and :func:`compare_samples`.

    Args:
        rounds: Rounds of colour refinement after each mark. A mark is seen that many edges away.
        progress: Called with the numbers of outputs that were computed, and of all.
    """
    n = int(dataset.node_counts.max())
    paths = n**steps
    K = min(paths, particles)
    model = colour_model(dataset, seed, width=WIDTH, layers=rounds, steps=steps, particles=K).to(devices.device)
    size = max(1, NUMBERS_AT_ONCE // (n * K * WIDTH))
    total, done = 4 * draws * controls, 0  # a control is two samples, each of both graphs

    def advance(outputs: int) -> None:
        nonlocal done
        done += outputs
        progress(done, total)

    progress(0, total)
    forward = Forward(model, devices, chunk=max(1, NUMBERS_AT_ONCE // (n * WIDTH)))
    sampler = Sampler(forward, dataset, min(size, draws), seed, advance)
    try:
        return compare_samples(sampler, steps, K, draws, limit, controls)
    except Exception as error:
        if not out_of_memory(error):
            raise
        raise OutOfMemoryError(
            f"particles must fit into the memory, but {K} of them in a graph of {n} vertices do not; a smaller "
            "number (--particles) needs less"
        ) from error


def colour_model(dataset: Dataset, seed: int, **settings: Any) -> nn.Module:
    """Our method with exact colour refinement in place of a GNN, and a mark that is a colour.

    Args:
        dataset: The graphs.
        seed: Seed of the parameters.
        settings: Other settings than those of our method.
    """
    backbone = f"{ColourRefinement.__module__}:{ColourRefinement.__name__}"
    config = ModelConfig(backbone=backbone, individualise="mark", exchange="none", **settings)
    return build_model(config, describe(dataset, np.arange(2)), seed)


def compare_samples(
    sampler: Sampler, steps: int, particles: int, draws: int, limit: float, controls: int = 1, updates: int = 0
) -> Evidence:
    """Draw outputs of two graphs, and compare them.

    Args:
        sampler: The model and the two graphs.
        steps: T.
        particles: K.
        draws: Outputs in a sample.
        limit: Threshold of T².
        controls: Pairs of samples of each graph that are compared with each other. No two share a sample.
        updates: Updates of the training before.
    """
    samples = [(sampler.sample(draws), sampler.sample(draws)) for _ in range(controls)]  # [2, R, C] each
    first = samples[0][0]
    t2, published_t2 = (float(of(first[:1], first[1:])) for of in (hotelling, paired_t2))
    own, published_own = (
        tuple(value for one, other in samples for value in of(one, other).tolist()) for of in (hotelling, paired_t2)
    )
    paths = int(sampler.resident.node_counts.max()) ** steps
    return Evidence(steps, particles, paths, t2, own, limit, published_t2, published_own, updates)


def shared_threshold(tests: int, draws: int, level: float) -> float:
    """The threshold of T² for tests that together give a false alarm with a probability of at most ``level``.

    Args:
        tests: How many tests share the level.
        draws: Outputs of each graph.
        level: Between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, but it is {level}")
    return threshold(COLUMNS, draws, draws, level / tests)


def _reach(graph: Graph) -> int:
    """The most edges from the first node of a component to another one. No shortest path is over twice as long."""
    source, target = graph.directed()[0]
    reached = least_connected(graph.num_nodes, graph.edges) == np.arange(graph.num_nodes)
    distance = -1
    new = reached
    while new.any():
        distance += 1
        found = reached.copy()
        found[target[reached[source]]] = True
        reached, new = found, found & ~reached
    return distance


def same_labels(graphs: Sequence[Graph], outputs: int = COLUMNS) -> Dataset:
    """A dataset of graphs whose labels, if they have any, are numbered over all of them, so that they are exact.

    Args:
        graphs: The graphs.
        outputs: Number of outputs of a model for them.
    """
    (x, nodes), (edge_attr, edges) = (
        _numbered(kind, [getattr(graph, name) for graph in graphs])
        for kind, name in (("nodes", "x"), ("edges", "edge_attr"))
    )
    numbered = [Graph(graph.num_nodes, graph.edges, x[i], edge_attr[i]) for i, graph in enumerate(graphs)]
    task = Task("pair", outputs, "none", "pairs")
    return Dataset.from_graphs(numbered, np.zeros(len(graphs)), task, node_categories=nodes, edge_categories=edges)


def _numbered(kind: str, labels: list[Array | None]) -> tuple[Sequence[Array | None], tuple[int, ...] | None]:
    """The number of each label among the distinct ones of all graphs, [rows, 1] each, and how many there are."""
    given = [rows for rows in labels if rows is not None]
    if not given:
        return labels, None
    if len(given) < len(labels) or len({rows.shape[1] for rows in given}) > 1:
        raise InputError(f"the {kind} of all graphs must have labels of the same length, or none must have any")
    ranks = rank_rows(np.concatenate(given))
    return np.split(ranks[:, None], np.cumsum([len(rows) for rows in given])[:-1]), (int(ranks.max(initial=0)) + 1,)
