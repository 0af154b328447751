"""Graphs whose label depends on a planted motif, so that it is known which vertices matter."""

from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.experiments.config import Config, DataConfig, ModelConfig
from pfgnn.experiments.predict import TrainedRun, load_run
from pfgnn.experiments.run import run
from pfgnn.graphs import Graph
from pfgnn.training.config import TrainingConfig

LABEL = Task("graph", 1, "binary_cross_entropy", "roc_auc", ("motif",))


class Planted(NamedTuple):
    """A graph, and the vertices of its motif; none if it has no motif."""

    graph: Graph
    vertices: tuple[int, ...]


def plant(rng: np.random.Generator, motif: bool, nodes: int = 14) -> Planted:
    """A 3-regular graph with colours 0 to 3. The motif is a path of the colours 1, 2, 3, and occurs once or never.

    All vertices have the same degree, and the colours of the motif occur in all graphs. So neither the degree nor a
    colour alone tells the motif.
    """
    while True:
        made = nx.random_regular_graph(3, nodes, seed=int(rng.integers(2**31)))
        colours = rng.integers(0, 4, nodes)
        found = [
            (a, b, c)
            for b in made
            for a in made[b]
            for c in made[b]
            if (colours[a], colours[b], colours[c]) == (1, 2, 3)
        ]
        if len(found) == motif and {1, 2, 3} <= set(colours.tolist()):
            graph = Graph.from_edges(nodes, list(made.edges), colours[:, None])
            return Planted(graph, found[0] if motif else ())


def train_on_motifs(folder: Path, epochs: int, learning_rate: float, graphs: int = 200) -> TrainedRun:
    """A small model, trained to tell graphs with a motif from those without. A tiny rate leaves it untrained."""
    rng = np.random.default_rng(0)
    made = [plant(rng, motif=bool(number % 2)).graph for number in range(graphs)]
    cut = graphs * 9 // 10
    parts = {"train": np.arange(cut), "validation": np.arange(cut, graphs), "test": np.arange(cut, graphs)}
    file = folder / "motifs.pfgnn"
    Dataset.from_graphs(made, np.arange(graphs) % 2, LABEL, splits=parts, node_categories=(4,)).save(file)
    config = Config(
        DataConfig(str(file)),
        ModelConfig(width=16, layers=2, steps=1, particles=4),
        TrainingConfig(epochs=epochs, batch_size=32, learning_rate=learning_rate),
    )
    run(config, folder / "run", device="cpu")
    return load_run(folder / "run", "cpu")
