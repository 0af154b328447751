"""The paths that the particles of a trained model take down the search tree, with their weights."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from pfgnn.data.loader import Loader, Resident
from pfgnn.errors import InputError
from pfgnn.experiments.given_graphs import GivenGraph
from pfgnn.experiments.predict import TrainedRun
from pfgnn.model.output import StepTrace
from pfgnn.model.pfgnn import PFGNN
from pfgnn.training.seeds import prediction_seed


class Particle(NamedTuple):
    """A particle after a step.

    Fields:
        path: The vertices that it has marked so far, in this order.
        weight: Its weight. The weights of all particles of a step add up to 1.
    """

    path: list[int]
    weight: float


@torch.no_grad()
def particle_paths(run: TrainedRun, graphs: Sequence[GivenGraph]) -> list[list[list[Particle]]]:
    """The particles of one pass of a run's model, the first draw of :meth:`TrainedRun.predict`.

    Args:
        run: The run. Its model must be a PF-GNN with at least one step.
        graphs: The graphs, as for :meth:`TrainedRun.predict`.

    Returns:
        For each graph and each step the particles before the resampling of that step.
    """
    if not isinstance(run.model, PFGNN) or run.model.steps == 0:
        raise InputError("the run's model must be a PF-GNN with particles, but it has none")
    dataset = run.prepare(graphs)
    batch_size = run.config.evaluation.batch_size or run.config.training.batch_size
    found = []
    for batch in Loader(Resident(dataset, run.devices.device), np.arange(len(dataset)), batch_size):
        with run.devices.autocast():
            seed = prediction_seed(run.config.seed)
            trace = run.model(batch, particles=run.config.evaluation.particles, seed=seed).trace
        trace = [StepTrace(*(part.cpu() for part in step)) for step in trace]
        first = batch.first.cpu().tolist()
        found += [_follow(trace, graph, first[graph]) for graph in range(batch.real_graphs)]
    return found


def _follow(trace: list[StepTrace], graph: int, first: int) -> list[list[Particle]]:
    """The particles of one graph of a batch after each step.

    Args:
        trace: The trace of the batch.
        graph: Number of the graph in the batch.
        first: Number of its first node in the batch.
    """
    steps: list[list[Particle]] = []
    copied: list[int] = []  # number of the particle, before the resampling, that is now in each place
    for step in trace:
        particles = []
        for k, weight in enumerate(step.log_weights[graph].double().exp().tolist()):
            before = steps[-1][copied[int(step.parents[graph, k])]].path if steps else []
            drawn = (step.vertices[graph, k] - first)[step.valid[graph, k]].tolist()
            particles.append(Particle([*before, *drawn], weight))
        steps.append(particles)
        copied = step.ancestors[graph].tolist()
    return steps
