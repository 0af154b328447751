"""A model is trained to tell two graphs apart, as BREC's protocol trains one for each pair, and then tested.

The backbone is colour refinement, which is exact. The readout is a table of colourings, which is learned: see
:class:`pfgnn.model.colour_table.ColourTable`.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from pfgnn.experiments.build import build_model, describe
from pfgnn.experiments.compare import NUMBERS_AT_ONCE, Evidence, compare_samples, same_labels
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.pair_test import Sampler
from pfgnn.graphs.graph import Graph
from pfgnn.model import ColourRefinement
from pfgnn.training.devices import Devices
from pfgnn.training.distinguish import PUBLISHED, paired_t2
from pfgnn.training.evaluate import Forward

WIDTH = 4  # four numbers of 16 bits hold a hash of 64 bits
RATE = 0.5  # of Adagrad, whose steps fall with the number of times that a row was seen
MARGIN = 2.0  # training may end when T² is this many times the published threshold
ROUNDS = 6  # of colour refinement after each mark


def train_and_compare(
    graphs: Sequence[Graph],
    steps: int,
    particles: int,
    draws: int,
    limit: float,
    seed: int,
    devices: Devices,
    updates: int,
    controls: int = 1,
) -> Evidence:
    """Train a model to tell two graphs apart, then compare new outputs of them.

    Args:
        graphs: The two graphs.
        steps: T.
        particles: Largest K. With fewer than K paths all paths are used.
        draws: Outputs of each graph that are compared. Each is computed on a fresh relabelling.
        limit: Threshold of T².
        seed: Seed of everything that is drawn.
        devices: The device.
        updates: Most updates. Training ends sooner if its last outputs differ clearly. They are computed before the
            update that learns from them.
        controls: See :func:`pfgnn.experiments.compare.compare_samples`.
    """
    dataset = same_labels(graphs, steps + 1)
    n = int(dataset.node_counts.max())
    K = min(particles, n**steps)
    config = ModelConfig(
        backbone=f"{ColourRefinement.__module__}:{ColourRefinement.__name__}",
        width=WIDTH,
        layers=ROUNDS,
        steps=steps,
        particles=K,
        individualise="mark",
        exchange="none",
        readout="colour-table",
    )
    model = build_model(config, describe(dataset, np.arange(2)), seed).to(devices.device)
    size = max(2, NUMBERS_AT_ONCE // (n * K * WIDTH))
    sampler = Sampler(Forward(model, devices), dataset, min(size, 2 * draws), seed)
    before: list[Tensor] = []
    for output in islice(_train(model, sampler, seed), updates):
        before.append(output)
        if len(before) % draws == 0 and _differ(before[len(before) // 2 :]):
            break
    return compare_samples(sampler, steps, K, draws, limit, controls, len(before))


def _train(model: nn.Module, sampler: Sampler, seed: int) -> Iterator[Tensor]:
    """Do one update after the other, and give the scaled outputs of both graphs before each, shape [2, T + 1].

    Every output is a logit of the first graph. Each has a loss of its own, so no step of the search is forgotten
    because another one tells the graphs apart already.
    """
    optimiser = torch.optim.Adagrad(model.parameters(), lr=RATE)
    sign = torch.tensor([[1.0], [-1.0]], device=sampler.forward.devices.device)
    both = np.arange(2)
    while True:
        number, sampler.drawn = sampler.drawn, sampler.drawn + 1
        batch = sampler.fresh(both, np.full(2, number))
        output = model(batch, seed=seed).prediction
        optimiser.zero_grad()
        softplus(-sign * output).sum().backward()
        optimiser.step()
        yield output.detach().double().cpu() / (number + 1) ** 0.5  # numbers in the table grow so fast


def _differ(outputs: list[Tensor]) -> bool:
    first, second = torch.stack(outputs, 1)[:, None]  # [1, R, T + 1] each
    return float(paired_t2(first, second)) > MARGIN * PUBLISHED
