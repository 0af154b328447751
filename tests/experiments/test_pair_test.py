"""Telling pairs apart: by models that cannot, that only seem to, and that can."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pfgnn.data import Dataset, GraphBatch, load
from pfgnn.experiments.config import PairsConfig
from pfgnn.experiments.pair_test import PairsResult, tell_pairs_apart
from pfgnn.model import GIN, PFGNN
from pfgnn.ops.hashing import fold, mix, uniform
from pfgnn.training.devices import open_devices
from pfgnn.training.distinguish import threshold
from pfgnn.training.evaluate import Forward

SMALL = PairsConfig(draws=16, controls=60, level=1e-4)


class Noisy(nn.Module):
    """Noise that follows from seed and key, plus ``known`` times the number that the graph's nodes carry, one-hot.

    The prediction is ``seen`` times this embedding.
    """

    def __init__(self, noise: float, known: float = 0.0, seen: float = 1.0) -> None:
        super().__init__()
        self.noise, self.known, self.seen = noise, known, seen
        self.asked: set[int] = set()

    def forward(
        self,
        batch: GraphBatch,
        *,
        particles: int,
        seed: Tensor,
        chunk: None,
    ) -> SimpleNamespace:
        x, graph_key = batch.tensors()["x"], batch.tensors()["graph_key"]
        assert not self.training
        assert particles == 2
        assert not self.asked & set(graph_key.tolist())  # no two draws share their randomness
        self.asked |= set(graph_key.tolist())
        keys = fold(fold(mix(graph_key), seed)[:, None], torch.arange(15))
        first = torch.searchsorted(batch.batch, torch.arange(len(graph_key)))
        known = torch.eye(15)[x[first, 0].long()]
        found = self.known * known + self.noise * torch.special.ndtri(uniform(keys))
        return SimpleNamespace(prediction=self.seen * found, embedding=found)


class Drifting(nn.Module):
    """Outputs that wander from call to call, whatever the graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, batch: GraphBatch, **_: Any) -> SimpleNamespace:
        self.calls += 1
        found = self.calls + torch.rand(batch.num_graphs, 15, dtype=torch.float64) * 1e-3
        return SimpleNamespace(prediction=found, embedding=found)


@pytest.fixture(scope="module")
def sr25() -> Dataset:
    """Every node carries the number of its graph, for a model that wants to know."""
    return replace(load("sr25"), x=np.repeat(np.arange(15), 25)[:, None], node_categories=(15,))


def bare(dataset: Dataset) -> Dataset:
    return replace(dataset, x=None, node_categories=None)


def run(
    model: nn.Module,
    dataset: Dataset,
    config: PairsConfig = SMALL,
    particles: int = 2,
    device: str = "cpu",
    **options: Any,
) -> PairsResult:
    forward = Forward(model, open_devices(device), particles, embed=True)
    return tell_pairs_apart(forward, dataset, config, **{"batch_size": 128, "seed": 1, **options})


def test_a_backbone_alone_tells_no_strongly_regular_pair_apart(sr25: Dataset) -> None:
    result = run(PFGNN.paper(GIN(8, 2), 15, steps=0), bare(sr25))
    assert (result.pairs, result.controls) == (105, 60)
    assert (result.paper_told_apart, result.paper_false_alarms) == (0, 0)
    assert (result.told_apart, result.separated, result.false_alarms) == (0, 0, 0)
    assert result.accuracy == 1 / 15
    assert result.predictions == 2 * 4 * 16 * 15


def test_noise_alone_convinces_the_papers_rule_and_nobody_else(sr25: Dataset) -> None:
    result = run(Noisy(1.0), sr25)
    assert (result.paper_told_apart, result.paper_false_alarms) == (105, 60)
    assert (result.told_apart, result.separated, result.false_alarms) == (0, 0, 0)


def test_the_papers_rule_is_for_embeddings_and_the_reliable_one_for_predictions(sr25: Dataset) -> None:
    result = run(Noisy(0.2, known=1.0, seen=0.0), sr25)
    assert (result.paper_told_apart, result.paper_false_alarms) == (105, 60)
    assert (result.told_apart, result.separated, result.false_alarms) == (0, 0, 0)


def test_false_alarms_come_as_often_as_the_level_says(sr25: Dataset) -> None:
    """600 controls at level 1/10: 60, ± 4 deviations of 7.3."""
    result = run(Noisy(1.0), sr25, replace(SMALL, controls=600, level=0.1))
    assert 31 <= result.false_alarms <= 89
    assert result.told_apart == result.separated - result.reliability_failures
    assert result.largest_control_t2 > result.threshold


def test_a_model_that_knows_the_graphs_tells_all_apart(sr25: Dataset) -> None:
    result = run(Noisy(0.2, known=1.0), sr25)
    assert (result.told_apart, result.separated, result.false_alarms) == (105, 105, 0)
    assert result.largest_control_t2 < result.threshold < result.smallest_pair_t2
    assert result.threshold == threshold(15, 16, 16, 1e-4)
    assert result.accuracy is not None
    assert result.accuracy > 0.98


def test_a_model_that_wanders_fails_the_reliability_check(sr25: Dataset) -> None:
    result = run(Drifting(), sr25, batch_size=16)
    assert (result.separated, result.reliability_failures, result.told_apart) == (105, 105, 0)
    assert result.false_alarms == 60


def test_the_result_does_not_depend_on_the_batches(sr25: Dataset, device: torch.device) -> None:
    model = PFGNN.paper(GIN(8, 2), 15, steps=2).double().to(device)
    config = PairsConfig(draws=9, controls=15)
    one, other = (asdict(run(model, bare(sr25), config, batch_size=size, device=device.type)) for size in (1000, 50))
    assert one == pytest.approx(other, rel=1e-6)
    assert one != pytest.approx(asdict(run(model, bare(sr25), config, seed=2, device=device.type)), rel=1e-6)


def test_the_result_is_json(sr25: Dataset) -> None:
    result = run(Noisy(0.2, known=1.0), sr25, PairsConfig(draws=9, controls=1))
    assert PairsResult(**json.loads(json.dumps(asdict(result)))) == result


@pytest.mark.parametrize("name", ["exp", "brec"])
def test_a_backbone_alone_on_the_other_sets(name: str, data_dir: Path) -> None:
    """The first ten pairs; classes of BREC's graphs do not exist."""
    whole = load(name, data_dir)
    assert whole.pairs is not None
    assert np.array_equal(whole.pairs[:10], np.arange(20).reshape(10, 2))
    dataset = replace(whole.subset(range(20)), pairs=whole.pairs[:10])
    model = PFGNN.paper(GIN(8, 2), dataset.task.outputs, in_channels=dataset.in_channels, steps=0)
    result = run(model, dataset, PairsConfig(draws=9, controls=20))
    assert (result.pairs, result.paper_told_apart, result.separated, result.false_alarms) == (10, 0, 0, 0)
    assert result.accuracy == (0.5 if name == "exp" else None)


def test_a_dataset_without_pairs_is_refused(sr25: Dataset) -> None:
    with pytest.raises(ValueError, match="the dataset sr25 must have pairs to be told apart, but it has none"):
        run(Noisy(1.0), replace(sr25, pairs=None))


def test_too_few_draws_are_refused(sr25: Dataset) -> None:
    with pytest.raises(ValueError, match="at least 17 to test 15 columns, but they are 16"):
        run(Noisy(1.0), sr25, replace(SMALL, draws=8))


def test_outputs_that_are_not_finite_are_no_equal_outputs(sr25: Dataset) -> None:
    """NaN differs from nothing, so such graphs would count as not told apart."""

    class Broken(Drifting):
        def forward(self, batch: GraphBatch, **_: Any) -> SimpleNamespace:
            found = super().forward(batch)
            wrong = batch.tensors()["x"][batch.first] == 7
            return SimpleNamespace(prediction=found.prediction, embedding=found.embedding.masked_fill(wrong, torch.nan))

    with pytest.raises(ValueError, match="a prediction must be finite, but that of graph 7 is nan"):
        run(Broken(), sr25, batch_size=4)
