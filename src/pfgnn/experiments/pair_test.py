"""Test whether a model tells pairs of graphs apart, by the paper's rule and by a reliable rule.

Both rules are also applied to isomorphic pairs, which no model should tell apart. The paper has no such control.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Resident
from pfgnn.data.relabel import relabel
from pfgnn.data.shards import Shards
from pfgnn.data.task import CLASS_LOSSES
from pfgnn.errors import InputError
from pfgnn.experiments.config import PairsConfig
from pfgnn.ops.hashing import fold
from pfgnn.training.distinguish import FLOOR, RIDGE, hotelling, threshold
from pfgnn.training.evaluate import Forward
from pfgnn.training.finite import check_predictions
from pfgnn.training.metrics import accuracy

DISTANCE = 1e-3  # Balcilar et al., ICML 2021: two embeddings differ if their L1 distance exceeds this
STREAM = 0x70616972  # added to the seed of the relabellings, so that training does not use the same random numbers


@dataclass(frozen=True)
class PairsResult:
    """How many pairs a model tells apart by two rules, and how many isomorphic pairs (false alarms).

    A sample is a set of R outputs of one graph, see :func:`tell_pairs_apart`. A control is a pair of samples of one
    graph. T² compares the predictions of two samples, see :mod:`pfgnn.training.distinguish`.

    Args:
        pairs: Number of pairs of the dataset. Their graphs are not isomorphic.
        controls: Number of controls. No two controls share a sample.
        paper_told_apart: Pairs told apart by the paper's rule: the L1 distance of their embeddings f̃(G), from one pass
            over all graphs, exceeds ``distance``.
        paper_false_alarms: Controls told apart by the paper's rule, applied to the first draw of each sample.
        distance: Threshold of the paper's rule.
        told_apart: Pairs told apart by the reliable rule: T² of the pair exceeds ``threshold``, but T² between two
            samples of the same graph does not, for both graphs.
        false_alarms: Controls whose T² exceeds ``threshold``.
        separated: Pairs whose T² exceeds ``threshold``.
        reliability_failures: Pairs counted in ``separated``, but not in ``told_apart``.
        threshold: Threshold of T².
        level: Level of the test, from which the threshold follows.
        draws: R, number of outputs in a sample.
        ridge: See :func:`pfgnn.training.distinguish.hotelling`.
        floor: See :func:`pfgnn.training.distinguish.hotelling`.
        smallest_pair_t2: Smallest T² of a pair.
        largest_control_t2: Largest T² of a control.
        accuracy: Share of all predictions that name the right class; None for a task without classes.
        predictions: Number of these predictions.
    """

    pairs: int
    controls: int
    paper_told_apart: int
    paper_false_alarms: int
    distance: float
    told_apart: int
    false_alarms: int
    separated: int
    reliability_failures: int
    threshold: float
    level: float
    draws: int
    ridge: float
    floor: float
    smallest_pair_t2: float
    largest_control_t2: float
    accuracy: float | None
    predictions: int


def tell_pairs_apart(
    forward: Forward, dataset: Dataset | Shards, config: PairsConfig, *, batch_size: int, seed: int
) -> PairsResult:
    """Test a model on the pairs of a dataset. The paper's rule compares embeddings, the reliable rule predictions.

    A sample is R outputs of a graph. Each is computed on a fresh relabelling and with new random numbers. Every graph
    gets two samples, which form one control, and this is repeated until there are enough controls. The first sample of
    each graph is also used for the pairs of the dataset. The first control of each graph also decides whether its pairs
    count as reliable.

    Args:
        forward: The model. It must append the embedding to each prediction.
        dataset: A dataset with pairs.
        config: Numbers of draws and controls, and the level.
        batch_size: Graphs in a batch.
        seed: Seed of the relabellings and of the model's draws.
    """
    if isinstance(dataset, Shards) or dataset.pairs is None or not len(dataset.pairs):
        raise InputError(f"the dataset {dataset.name} must have pairs to be told apart, but it has none")
    if not forward.embed:
        raise InputError("forward must have embed=True, for the embeddings of the paper's rule, but it is False")
    first, second = torch.from_numpy(dataset.pairs.astype(np.int64)).T
    sampler = Sampler(forward, dataset, batch_size, seed)
    C = dataset.task.outputs
    whole = sampler.one_pass()[:, C:]  # [G, F]
    limit = threshold(C, config.draws, config.draws, config.level)
    repeats = math.ceil(check_positive("controls", config.controls) / len(dataset))

    control_t2, differ, right = [], [], []
    for repeat in range(repeats):
        one, other = sampler.sample(config.draws), sampler.sample(config.draws)  # [G, R, C + F]
        differ.append(_differ(one[:, 0, C:], other[:, 0, C:]))
        one, other = one[..., :C], other[..., :C]
        control_t2.append(hotelling(one, other))
        right += [accuracy(sample.flatten(0, 1), sampler.labels(config.draws)) for sample in (one, other)]
        if repeat == 0:
            pair_t2 = hotelling(one[first], one[second])
    own, controls = control_t2[0] > limit, torch.cat(control_t2)
    separated = pair_t2 > limit
    reliable = separated & ~own[first] & ~own[second]
    return PairsResult(
        pairs=len(first),
        controls=len(controls),
        paper_told_apart=int(_differ(whole[first], whole[second]).sum()),
        paper_false_alarms=int(torch.cat(differ).sum()),
        distance=DISTANCE,
        told_apart=int(reliable.sum()),
        false_alarms=int((controls > limit).sum()),
        separated=int(separated.sum()),
        reliability_failures=int((separated & ~reliable).sum()),
        threshold=limit,
        level=config.level,
        draws=config.draws,
        ridge=RIDGE,
        floor=FLOOR,
        smallest_pair_t2=float(pair_t2.min()),
        largest_control_t2=float(controls.max()),
        accuracy=fmean(right) if dataset.task.loss in CLASS_LOSSES else None,
        predictions=2 * repeats * config.draws * len(dataset),
    )


class Sampler:
    """Computes outputs of all graphs of a dataset. Each call of ``sample`` uses new relabellings and random numbers.

    Args:
        forward: The model.
        dataset: The graphs.
        batch_size: Graphs in a batch.
        seed: Seed of the relabellings and of the model's draws.
        advance: Called after each batch of a sample with the number of its outputs.
    """

    def __init__(
        self,
        forward: Forward,
        dataset: Dataset,
        batch_size: int,
        seed: int,
        advance: Callable[[int], None] = lambda outputs: None,
    ) -> None:
        self.forward, self.seed, self.advance = forward, seed, advance
        self.batch_size = check_positive("batch_size", batch_size)
        self.resident = Resident(dataset, forward.devices.device)
        self.pad = self.resident.multiples(np.arange(len(dataset)), batch_size)
        self.y = torch.from_numpy(dataset.y.astype(np.float64))
        self.rng = np.random.default_rng([seed, STREAM])
        self.drawn = 0  # number of draws of each graph so far

    def one_pass(self) -> Tensor:
        """One output of each graph, without relabelling, shape [G, C + F]."""
        graphs, size = np.arange(len(self.y)), self.batch_size
        batches = enumerate(self.resident.batches(graphs, size))
        return torch.cat([self._predict(batch, graphs[place * size :][:size]) for place, batch in batches])

    def sample(self, draws: int) -> Tensor:
        """R new outputs of each graph, each on a fresh relabelling, shape [G, R, C + F]."""
        numbers = np.repeat(np.arange(len(self.y)), draws)
        draw = self.drawn + np.tile(np.arange(draws), len(self.y))
        self.drawn += draws
        parts = []
        for start in range(0, len(numbers), self.batch_size):
            part = slice(start, start + self.batch_size)
            parts.append(self._predict(self.fresh(numbers[part], draw[part]), numbers[part]))
            self.advance(len(parts[-1]))
        return torch.cat(parts).view(len(self.y), draws, -1)

    def labels(self, draws: int) -> Tensor:
        """The class of each output of a sample, shape [G R, 1]."""
        return self.y.repeat_interleave(draws, 0)

    def fresh(self, numbers: npt.NDArray[np.int64], draw: npt.NDArray[np.int64]) -> GraphBatch:
        """A batch of freshly relabelled graphs, whose random numbers follow from the numbers of the draws."""
        batch, _ = relabel(self.resident.collate(numbers), self.rng)
        assert batch.graph_key is not None
        key = fold(batch.graph_key, torch.from_numpy(draw).to(batch.graph_key.device))
        return batch.with_fields(graph_key=key)

    def _predict(self, batch: GraphBatch, numbers: npt.NDArray[np.int64]) -> Tensor:
        found = self.forward(batch, self.seed, self.pad).double().cpu()
        check_predictions(found, self.resident, numbers, self.forward.model)
        return found


def _differ(one: Tensor, other: Tensor) -> Tensor:
    """Whether the paper's rule tells two embeddings apart: [P, F] and [P, F] -> bool [P]."""
    return (one - other).abs().sum(1) > DISTANCE
