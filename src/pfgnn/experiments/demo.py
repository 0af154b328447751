"""The demo: GIN alone and PF-GNN on GIN, on circular skip link graphs, which 1-WL cannot tell apart."""

import itertools
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch import Tensor

from pfgnn.experiments.demo_config import SKIPS, DemoConfig
from pfgnn.experiments.provenance import provenance
from pfgnn.graphs import csl
from pfgnn.model import GIN, PFGNN
from pfgnn.training.distinguish import told_apart
from pfgnn.training.objective import Objective

TRAINING, TEST, PAIRS = range(3)  # streams of relabellings that never overlap, whatever the seeds


@dataclass(frozen=True)
class DemoRow:
    """One model's results. Pairs are [told apart, all]; the isomorphic ones are the control."""

    model: str
    parameters: int
    accuracy: float
    different_pairs: tuple[int, int]
    isomorphic_pairs: tuple[int, int]
    seconds: float
    curve: list[float] = field(repr=False)  # training accuracy after each update


@dataclass(frozen=True)
class DemoResult:
    """The config, a row per model, the trained PF-GNN, and where the numbers come from."""

    config: DemoConfig
    rows: list[DemoRow]
    model: PFGNN
    provenance: dict[str, str | None]

    def record(self) -> dict[str, object]:
        """All but the model, ready for JSON."""
        return {**self.provenance, "config": asdict(self.config), "rows": [asdict(row) for row in self.rows]}


class Batches:
    """Endless batches of freshly relabelled graphs, all ten classes in equal parts."""

    def __init__(self, nodes: int, seed: int, purpose: int) -> None:
        self.rng = np.random.default_rng([seed, purpose])
        self.graphs = [csl(nodes, skip) for skip in SKIPS]

    def draw(self, copies: int) -> tuple[Tensor, Tensor, Tensor]:
        """Edges [2, E], graph numbers [N] and classes [G] of ``copies`` relabelled copies of each class."""
        classes = np.tile(np.arange(len(SKIPS)), copies)
        nodes = self.graphs[0].num_nodes
        edges = [
            self.graphs[c].relabel(self.rng.permutation(nodes)).directed()[0] + nodes * place
            for place, c in enumerate(classes)
        ]
        batch = torch.arange(len(classes)).repeat_interleave(nodes)
        return torch.from_numpy(np.concatenate(edges, axis=1)), batch, torch.from_numpy(classes)


def run_demo(config: DemoConfig, progress: Callable[[str, int, float], None]) -> DemoResult:
    """Train and test both models; ``progress`` gets the model's name, the update and the training accuracy."""
    pf = build(config, config.steps)
    rows = [
        run_model("GIN", build(config, steps=0), config, progress),
        run_model("PF-GNN on GIN", pf, config, progress),
    ]
    return DemoResult(config, rows, pf, provenance(torch.device("cpu")))


def build(config: DemoConfig, steps: int) -> PFGNN:
    """PF-GNN on GIN; with no steps, GIN alone. The parameters follow from the seed."""
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        backbone = GIN(config.width, config.layers)
        return PFGNN(backbone, len(SKIPS), steps=steps, particles=config.particles)


def run_model(name: str, model: PFGNN, config: DemoConfig, progress: Callable[[str, int, float], None]) -> DemoRow:
    """Train one model, then test it on graphs relabelled afresh."""
    start = time.perf_counter()
    curve = train(model, config, lambda update, accuracy: progress(name, update, accuracy))
    model.eval()
    accuracy = accuracy_on_fresh_graphs(model, config)
    different, isomorphic = pairs_told_apart(model, config)
    parameters = sum(p.numel() for p in model.parameters())
    return DemoRow(name, parameters, accuracy, different, isomorphic, time.perf_counter() - start, curve)


def train(model: PFGNN, config: DemoConfig, report: Callable[[int, float], None]) -> list[float]:
    """Minimise the objective on fresh batches; return the accuracy on each batch before its update."""
    batches = Batches(config.nodes, config.seed, TRAINING)
    objective = Objective(config.gamma)
    optimiser = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    curve = []
    for update in range(config.updates):
        edge_index, batch, classes = batches.draw(config.copies)
        output = model(None, edge_index, batch=batch)
        losses = torch.nn.functional.cross_entropy(output.prediction, classes, reduction="none")
        optimiser.zero_grad()
        objective(losses, output.trace).total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        curve.append(float((output.prediction.argmax(1) == classes).double().mean()))
        report(update + 1, curve[-1])
    return curve


@torch.no_grad()
def accuracy_on_fresh_graphs(model: PFGNN, config: DemoConfig) -> float:
    """Share of fresh relabelled graphs whose class is named."""
    edge_index, batch, classes = Batches(config.nodes, config.seed, TEST).draw(config.test_copies)
    return float((model(None, edge_index, batch=batch).prediction.argmax(1) == classes).double().mean())


@torch.no_grad()
def pairs_told_apart(model: PFGNN, config: DemoConfig) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many pairs of different classes are told apart, and how many pairs of isomorphic copies."""
    batches = Batches(config.nodes, config.seed, PAIRS)
    sets = []  # each [classes, R, C]: R outputs of each class, every one on a fresh relabelling
    for _ in range(config.control_sets):
        edge_index, batch, _ = batches.draw(config.draws)
        output = model(None, edge_index, batch=batch).prediction
        sets.append(output.view(config.draws, len(SKIPS), -1).transpose(0, 1))
    c, d = torch.combinations(torch.arange(len(SKIPS))).T
    different = told_apart(sets[0][c], sets[0][d], config.level)
    same = torch.cat([told_apart(a, b, config.level) for a, b in itertools.combinations(sets, 2)])
    return (int(different.sum()), len(different)), (int(same.sum()), len(same))
