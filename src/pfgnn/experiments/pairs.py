"""Telling pairs of graphs apart: the paper's number with the control that it lacks, and one to rely on."""

import math
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pfgnn.arguments import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Resident
from pfgnn.data.relabel import relabel
from pfgnn.errors import InputError
from pfgnn.experiments.config import PairsConfig
from pfgnn.ops.hashing import fold
from pfgnn.training.distinguish import FLOOR, RIDGE, hotelling, threshold
from pfgnn.training.evaluate import Forward
from pfgnn.training.losses import CLASSES
from pfgnn.training.metrics import accuracy

DISTANCE = 1e-3  # Balcilar et al., ICML 2021: two embeddings differ if their L1 distance exceeds this
STREAM = 0x70616972  # of relabellings: one that no training draws from


@dataclass(frozen=True)
class PairsResult:
    """How many pairs a model tells apart, by two rules, each with its false alarms over isomorphic pairs.

    Args:
        pairs: of graphs that are not isomorphic.
        controls: pairs of samples of one graph, all disjoint.
        paper_told_apart: pairs whose embeddings f̃(G), all of one pass, are further than ``distance`` apart in L1
            (absolute, as published).
        paper_false_alarms: controls of which two draws do, one of each sample.
        told_apart: pairs whose predictions' T² exceeds the threshold, while that of neither graph's own two samples
            does.
        false_alarms: controls whose T² exceeds the threshold.
        separated: pairs whose T² exceeds it, before the graphs' own samples are asked.
        reliability_failures: those of them that the graphs' own samples take away.
        threshold, level, draws, ridge, floor: of T², see :mod:`pfgnn.training.distinguish`.
        smallest_pair_t2, largest_control_t2: the nearest calls.
        accuracy: share of all draws, each on a fresh relabelling, whose class is named; None without classes.
        predictions: how many draws these are.
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
    forward: Forward, dataset: Dataset, config: PairsConfig, *, batch_size: int, seed: int
) -> PairsResult:
    """Test a model on the pairs of a dataset: by the paper's rule its embeddings, by the reliable one its predictions.

    A sample is R draws of every graph, each on a fresh relabelling and with fresh randomness. Of every graph there are
    as many pairs of samples as the controls need. The first pair serves as the test of the dataset's pairs (its first
    sample) and of their reliability (both) too.

    Args:
        forward: the model's predictions, each followed by the embedding.
        dataset: has pairs.
        config: draws, controls and level.
        batch_size: draws computed at a time.
        seed: of relabellings and randomness.
    """
    if dataset.pairs is None or not len(dataset.pairs):
        raise InputError(f"the dataset {dataset.name} must have pairs to be told apart, but it has none")
    if not forward.embed:
        raise InputError("forward must give embeddings too, embed=True, by which the paper's rule goes")
    first, second = torch.from_numpy(dataset.pairs.astype(np.int64)).T
    sampler = _Sampler(forward, dataset, batch_size, seed)
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
        accuracy=fmean(right) if dataset.task.loss in CLASSES else None,
        predictions=2 * repeats * config.draws * len(dataset),
    )


class _Sampler:
    """Outputs of all graphs of a dataset; no two draws share a relabelling or their randomness."""

    def __init__(self, forward: Forward, dataset: Dataset, batch_size: int, seed: int) -> None:
        self.forward, self.seed = forward, seed
        self.batch_size = check_positive("batch_size", batch_size)
        self.resident = Resident(dataset, forward.fabric.device)
        self.pad = self.resident.multiples(np.arange(len(dataset)), batch_size)
        self.y = torch.from_numpy(dataset.y.astype(np.int64))
        self.rng = np.random.default_rng([seed, STREAM])
        self.drawn = 0  # draws of every graph so far

    def one_pass(self) -> Tensor:
        """Outputs of the graphs as they are: [G, C + F]."""
        graphs = np.arange(len(self.y))
        return torch.cat([self._predict(batch) for batch in self.resident.batches(graphs, self.batch_size)])

    def sample(self, draws: int) -> Tensor:
        """Fresh outputs of every graph: [G, R, C + F]."""
        numbers = np.repeat(np.arange(len(self.y)), draws)
        draw = self.drawn + np.tile(np.arange(draws), len(self.y))
        self.drawn += draws
        parts = [
            self._fresh(numbers[start : start + self.batch_size], draw[start : start + self.batch_size])
            for start in range(0, len(numbers), self.batch_size)
        ]
        return torch.cat(parts).view(len(self.y), draws, -1)

    def labels(self, draws: int) -> Tensor:
        """The classes of a sample's rows: [G R, 1]."""
        return self.y.repeat_interleave(draws, 0)

    def _fresh(self, numbers: npt.NDArray[np.int64], draw: npt.NDArray[np.int64]) -> Tensor:
        batch, _ = relabel(self.resident.collate(numbers), self.rng)
        assert batch.graph_key is not None
        key = fold(batch.graph_key, torch.from_numpy(draw).to(batch.graph_key.device))
        return self._predict(batch.with_fields(graph_key=key))

    def _predict(self, batch: GraphBatch) -> Tensor:
        return self.forward(batch, self.seed, self.pad).double().cpu()


def _differ(one: Tensor, other: Tensor) -> Tensor:
    """The paper's rule on embeddings [P, F] each: bool [P]."""
    return (one - other).abs().sum(1) > DISTANCE
