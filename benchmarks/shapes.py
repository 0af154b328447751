"""The models and graphs whose speed is measured. Molecules are random graphs, so that no download is needed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfgnn.data import Dataset
from pfgnn.data.generated import csl
from pfgnn.data.task import Task
from pfgnn.experiments.config import ModelConfig
from pfgnn.graphs import Graph
from pfgnn.graphs.strongly_regular import sr25

ATOMS, BONDS = 28, 4  # number of atom types and bond types
BOND_SHARES = [0.0, 0.6, 0.1, 0.3]  # share of each bond type
NODES, SPREAD, LEAST, MOST = 23.2, 4.5, 9, 38  # atoms of a molecule: mean, deviation, limits
REACH, DEGREE = 5, 4  # an atom is joined to one of this many before it; most bonds of an atom
RINGS = 2.72  # bonds that close rings, in a molecule of average size


class Shape(NamedTuple):
    """A model and the graphs that it is timed with.

    Fields:
        name: Name in tables.
        model: The model.
        batch: Graphs in a batch.
        graphs: Makes a dataset with a given number of graphs.
    """

    name: str
    model: ModelConfig
    batch: int
    graphs: Callable[[int], Dataset]

    def resized(self, **changes: Any) -> "Shape":
        """The shape with other settings of the model."""
        return self._replace(model=replace(self.model, **changes))


def molecule(rng: np.random.Generator, nodes: int | None = None) -> Graph:
    """A random graph like ZINC's molecules: on average 23.2 atoms and 49.8 directed bonds, degrees 1 to 4.

    It is a random tree in which each atom is joined to one of the five before it, plus some bonds that close rings.

    Args:
        rng: Random numbers.
        nodes: Number of atoms; by default as in ZINC.
    """
    n = nodes or int(np.clip(round(rng.normal(NODES, SPREAD)), LEAST, MOST))
    degree, edges = np.zeros(n, dtype=np.int64), set()

    def join(i: int, j: int) -> bool:
        """Add a bond if it is allowed, and return whether it was added."""
        if i == j or (min(i, j), max(i, j)) in edges or max(degree[i], degree[j]) >= DEGREE:
            return False
        edges.add((min(i, j), max(i, j)))
        degree[[i, j]] += 1
        return True

    for i in range(1, n):
        while not join(i, int(rng.integers(max(0, i - REACH), i))):
            pass
    rings = rng.poisson(RINGS * n / NODES)
    while rings > 0:
        rings -= join(*rng.integers(n, size=2).tolist())
    bonds = np.array(sorted(edges))
    kinds = (rng.choice(ATOMS, size=(n, 1)), rng.choice(BONDS, size=(len(bonds), 1), p=BOND_SHARES))
    return Graph(n, bonds, *kinds)


def molecules_of(nodes: int) -> Callable[[int], Dataset]:
    """Makes datasets of molecules with a given number of atoms; see :func:`molecules`."""
    return lambda count: molecules(count, nodes)


def molecules(count: int, nodes: int | None = None) -> Dataset:
    """A dataset of random molecules, each with a number to predict. It is always the same.

    Args:
        count: Number of molecules.
        nodes: Number of atoms of each; by default as in ZINC.
    """
    rng = np.random.default_rng(0)
    graphs = [molecule(rng, nodes) for _ in range(count)]
    task = Task("graph", 1, "l1", "mae")
    return Dataset.from_graphs(
        graphs, rng.normal(size=(count, 1)), task, "molecules", node_categories=(ATOMS,), edge_categories=(BONDS,)
    )


def csl_graphs(count: int) -> Dataset:
    """A dataset of ``count`` CSL graphs of ten classes."""
    made = csl(np.random.default_rng(0), copies=-(-count // 10))
    return _classes(made.graphs[:count], np.asarray(made.labels)[:count], 10)


def strongly_regular(count: int) -> Dataset:
    """The first ``count`` of the 15 graphs of SR25. Each graph is a class."""
    graphs = sr25()[:count]
    return _classes(graphs, np.arange(len(graphs)), 15)


def _classes(graphs: Sequence[Graph], y: npt.ArrayLike, outputs: int) -> Dataset:
    return Dataset.from_graphs(graphs, y, Task("graph", outputs, "cross_entropy", "accuracy"), "classes")


_PAPER = ModelConfig(  # as in the config bases/paper
    norm="graph",
    feed_forward=False,
    policy="mlp",
    sampling="independent",
    individualise="multiplicative",
    exchange="none",
    observe="set",
    resample="soft",
    readout="mean",
    pool="mean",
)
_PNA = replace(_PAPER, backbone="pna", width=150, layers=5, step_layers=1, towers=5, steps=3, particles=8, pool="sum")
_GIN = replace(_PAPER, backbone="gin", width=64, layers=3, steps=8, particles=4)
# As in the config ours/zinc, but with the K, the width and the depth of the first trials.
_OURS = ModelConfig(
    backbone="gine", width=96, layers=1, step_layers=6, norm="batch", exchange="both", steps=1, particles=16
)
OURS = Shape("our method, batch 128", _OURS, 128, molecules)
ZINC = Shape("ZINC shape, batch 64", _PNA, 64, molecules)
ZINC_512 = ZINC._replace(name="ZINC shape, batch 512", batch=512)
CSL = Shape("CSL shape, batch 16", _GIN, 16, csl_graphs)
SR25 = Shape("SR25 shape, all 15 graphs", _GIN, 15, strongly_regular)
