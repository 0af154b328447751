"""A model is trained to tell two graphs apart, as BREC's protocol trains one for each pair, and then tested.

The backbone is colour refinement, which is exact. Two tables are learned, see :mod:`pfgnn.model.colour_table`: the
policy has a number for each colour of a vertex, the readout one for each colouring of a graph. In many pairs only a few
choices of vertices show the difference. The policy finds them, so few particles suffice.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from pfgnn.experiments.compare import NUMBERS_AT_ONCE, Evidence, colour_model, compare_samples, same_labels
from pfgnn.experiments.pair_test import Sampler
from pfgnn.graphs.graph import Graph
from pfgnn.model.output import Output
from pfgnn.training.devices import Devices
from pfgnn.training.distinguish import PUBLISHED, paired_t2
from pfgnn.training.evaluate import Forward

Policy = Literal["learned", "uniform"]

WIDTH = 4  # four numbers of 16 bits hold a hash of 64 bits
ROUNDS = 6  # of colour refinement after each mark
RATE = 0.5  # of Adagrad, whose steps fall with the number of times that a row was seen
MARGIN = 5.0  # training may end when T² is this many times the published threshold


def train_and_compare(
    graphs: Sequence[Graph],
    steps: int,
    particles: int,
    draws: int,
    limit: float,
    seed: int,
    devices: Devices,
    updates: int,
    policy: Policy = "learned",
    controls: int = 1,
) -> Evidence:
    """Train a model to tell two graphs apart, then compare new outputs of them.

    Args:
        graphs: The two graphs.
        steps: T.
        particles: K.
        draws: Outputs of each graph that are compared. Each is computed on a fresh relabelling.
        limit: Threshold of T².
        seed: Seed of everything that is drawn.
        devices: The device.
        updates: Most updates. Training ends sooner if its last outputs differ clearly. They are computed before the
            update that learns from them.
        policy: "learned" or "uniform".
        controls: See :func:`pfgnn.experiments.compare.compare_samples`.
    """
    dataset = same_labels(graphs, steps + 1)
    model = colour_model(
        dataset,
        seed,
        width=WIDTH,
        layers=ROUNDS,
        steps=steps,
        particles=particles,
        policy="colour-table" if policy == "learned" else policy,
        sampling="independent",
        readout="colour-table",
    ).to(devices.device)
    size = max(2, NUMBERS_AT_ONCE // (int(dataset.node_counts.max()) * particles * WIDTH))
    sampler = Sampler(Forward(model, devices), dataset, min(size, 2 * draws), seed)
    before: list[Tensor] = []
    for output in islice(_train(model, sampler, seed), updates):
        before.append(output)
        if len(before) % draws == 0 and _differ(before[len(before) // 2 :]):
            break
    return compare_samples(sampler, steps, particles, draws, limit, controls, len(before))


def _train(model: nn.Module, sampler: Sampler, seed: int) -> Iterator[Tensor]:
    """Do one update after the other, and give the scaled outputs of both graphs before each, shape [2, T + 1].

    Every output is a logit of the first graph. Each has a loss of its own, so no step of the search is forgotten
    because another one tells the graphs apart already.
    """
    optimiser = torch.optim.Adagrad(model.parameters(), lr=RATE)
    sign = torch.tensor([[1.0], [-1.0]], device=sampler.forward.devices.device)  # of the two graphs
    both = np.arange(2)
    while True:
        number, sampler.drawn = sampler.drawn, sampler.drawn + 1
        output: Output = model(sampler.fresh(both, np.full(2, number)), seed=seed)
        optimiser.zero_grad()
        (softplus(-sign * output.prediction).sum() + _policy_loss(output, sign)).backward()
        optimiser.step()
        yield output.prediction.detach().double().cpu() / (number + 1) ** 0.5  # the tables grow about so fast


def _policy_loss(output: Output, sign: Tensor) -> Tensor:
    """-Σ_g 1/K Σ_k Σ_t A log P(v_t^k): draws are rewarded for the right numbers that their particle reads from then on.

    A is the sum of these numbers over the steps t, t + 1, ..., T, less its mean over the particles of the graph. All
    are divided by their standard deviation. Without steps the loss is 0.

    Args:
        output: Output of the model.
        sign: 1 or -1 for each graph, the sign of a right number, shape [G, 1].
    """
    if not output.trace:
        return sign.new_zeros(())
    parts = [reading.parts for reading in output.readings[1:]]
    right = torch.stack([sign * part.squeeze(-1) for part in parts if part is not None]).detach()  # [T, G, K]
    reward = right.flip(0).cumsum(0).flip(0)
    reward = reward - reward.mean(-1, keepdim=True)
    reward = reward / (reward.std() + 1e-6)
    log_prob = torch.stack([step.log_prob for step in output.trace])  # [T, G, K]
    return -(reward * log_prob).mean(-1).sum()


def _differ(outputs: list[Tensor]) -> bool:
    first, second = torch.stack(outputs, 1)[:, None]  # [1, R, T + 1] each
    return float(paired_t2(first, second)) > MARGIN * PUBLISHED
