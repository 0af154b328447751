import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from tests.training.training_samples import graphs, trainer

from pfgnn.data import Dataset
from pfgnn.data.loader import Resident
from pfgnn.data.shard_writer import write_shards
from pfgnn.data.shards import Shards
from pfgnn.data.streamed import Streamed
from pfgnn.data.task import Task
from pfgnn.model import GIN, PFGNN, LinearPart
from pfgnn.training.batches import Examples
from pfgnn.training.config import TrainingConfig
from pfgnn.training.linear_fit import PENALTIES, Moments, _ridge, fit_linear
from pfgnn.training.targets import Standardise

Numbers = npt.NDArray[np.float64]
GRAPHS = 60


def sizes(dataset: Dataset) -> Numbers:
    return np.stack([dataset.node_counts, dataset.edge_counts], 1).astype(float)


def fitted(
    y: Numbers, train: int = GRAPHS, weights: Numbers | None = None
) -> tuple[torch.Tensor, Standardise, LinearPart]:
    """What the part predicts for 60 graphs without features, in the units of the targets y [60, C]."""
    dataset = graphs(GRAPHS)
    examples = Examples(Resident(dataset), torch.from_numpy(y), np.arange(train), None, weights)
    part = LinearPart(0, None, y.shape[1])
    scaler = fit_linear(part, examples)
    return scaler.unscale(part(examples.data.collate(np.arange(GRAPHS)))), scaler, part


def test_a_sum_over_nodes_and_edges_is_found() -> None:
    """The numbers are as in total energies: the mean is large, and the rest small. Half the graphs are enough."""
    y = -1000 + sizes(graphs(GRAPHS)) @ [[3.0], [-0.5]]
    predicted, scaler, _ = fitted(y, train=30)
    np.testing.assert_allclose(predicted, y, rtol=0, atol=1e-5)
    assert scaler.std.item() < 1e-4


def test_it_is_least_squares_where_graphs_are_many(seed: int) -> None:
    """With 60 graphs and a little noise, the penalty hardly matters, and the deviation that is left is the noise."""
    rng = np.random.default_rng(seed)
    s = sizes(graphs(GRAPHS))
    y = s @ [[3.0], [-0.5]] + 0.1 * rng.normal(size=(GRAPHS, 1))
    predicted, scaler, _ = fitted(y)
    design = np.hstack([s, np.ones((GRAPHS, 1))])
    np.testing.assert_allclose(predicted, design @ np.linalg.lstsq(design, y)[0], rtol=0, atol=0.02)
    assert 0.05 < scaler.std.item() < 0.2


def test_targets_that_are_no_sums_are_left_alone(seed: int) -> None:
    """Control: of noise, next to nothing is explained on average, and what is left is all of it."""
    y = np.random.default_rng(seed).normal(size=(GRAPHS, 40))
    predicted, scaler, _ = fitted(y)
    assert predicted.var().item() < 0.1
    assert 0.93 < (scaler.std.numpy() / y.std(0)).mean() < 1.02


def test_unknown_targets_are_left_out() -> None:
    y = sizes(graphs(GRAPHS)) @ [[1.0, 3.0], [0.5, -0.5]]
    some = y.copy()
    some[5:25, 0] = math.nan
    predicted, _, _ = fitted(some)
    np.testing.assert_allclose(predicted, y, rtol=0, atol=1e-4)


def test_weights_count_and_a_weight_of_0_leaves_a_graph_out() -> None:
    y = sizes(graphs(GRAPHS)) @ [[3.0], [-0.5]]
    wrong = y.copy()
    wrong[::3] = 1000
    weights = np.where(np.arange(GRAPHS) % 3, 2.0, 0.0)
    predicted, _, _ = fitted(wrong, weights=weights)
    np.testing.assert_allclose(predicted, y, rtol=0, atol=1e-3)
    predicted, _, _ = fitted(np.where(weights[:, None], 7.0, wrong), weights=weights)  # all that count are equal
    np.testing.assert_allclose(predicted, 7, rtol=0, atol=1e-6)


def test_a_target_that_only_graphs_of_weight_0_have() -> None:
    y = sizes(graphs(GRAPHS)) @ [[3.0, 1.0], [-0.5, 1.0]]
    weights = np.where(np.arange(GRAPHS) % 3, 2.0, 0.0)
    y[weights > 0, 1] = math.nan
    predicted, scaler, _ = fitted(y, weights=weights)
    assert predicted.isfinite().all()
    assert scaler.std.isfinite().all()


@pytest.mark.parametrize("value", [0.1, -1e6])
def test_a_constant_target_has_deviation_1(value: float) -> None:
    predicted, scaler, part = fitted(np.full((GRAPHS, 1), value))
    assert not part.weight.any()
    assert scaler.std.tolist() == [1.0]
    np.testing.assert_allclose(predicted, value, rtol=1e-12)


def test_sums_that_depend_on_others_or_never_vary_do_no_harm(seed: int) -> None:
    """The kinds of nodes add up to all nodes, one kind is in each graph once, and one never occurs."""
    rng = np.random.default_rng(seed)
    dataset = graphs(GRAPHS, Task("graph", 1, "l1", "mae"))
    first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
    x = rng.integers(0, 2, int(dataset.node_counts.sum()))
    x[first] = 2
    kinds = np.stack([np.add.reduceat(x == kind, first) for kind in range(3)], 1)
    y = 1e4 + kinds @ [[2.0], [-1.0], [0.0]]
    dataset = replace(dataset, x=x[:, None], node_categories=(4,))
    part = LinearPart([4], None, 1)
    examples = Examples(Resident(dataset), torch.from_numpy(y), np.arange(GRAPHS), None)
    scaler = fit_linear(part, examples)
    np.testing.assert_allclose(scaler.unscale(part(examples.data.collate(np.arange(GRAPHS)))), y, rtol=0, atol=1e-4)
    assert (part.weight * scaler.std).abs().max() < 10  # no large coefficients that cancel


def test_large_sums_that_vary_little() -> None:
    """Features whose mean is 10^6 times their deviation: what is fitted depends on the deviations alone."""
    dataset = graphs(GRAPHS, Task("graph", 1, "l1", "mae"))
    first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
    x = np.zeros((int(dataset.node_counts.sum()), 1), dtype=np.float32)
    x[first, 0] = 1e7 + np.arange(GRAPHS)
    y = 0.5 * np.arange(GRAPHS, dtype=float)[:, None]
    part = LinearPart(1, None, 1)
    examples = Examples(Resident(replace(dataset, x=x)), torch.from_numpy(y), np.arange(GRAPHS), None)
    scaler = fit_linear(part, examples)
    np.testing.assert_allclose(scaler.unscale(part(examples.data.collate(np.arange(GRAPHS)))), y, rtol=0, atol=1e-5)


def test_the_penalty_is_that_of_the_least_error_by_cross_validation(seed: int) -> None:
    """Compared with the definition: coefficients, sum of squares and degrees of freedom for each penalty."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(30, 8)) @ rng.normal(size=(8, 8))
    y = s @ rng.normal(size=8) + 5 * rng.normal(size=30)
    s, y = s - s.mean(0), y - y.mean()
    moments = (30.0, s.sum(0), y.sum(), s.T @ s, s.T @ y, y @ y)
    coefficients, left = _ridge(Moments(*(torch.as_tensor(value, dtype=torch.float64) for value in moments)))
    z = s / np.linalg.norm(s, axis=0)
    errors = []
    for penalty in PENALTIES.numpy():
        hat = z @ np.linalg.solve(z.T @ z + penalty * np.eye(8), z.T)
        errors.append(30 * np.square(y - hat @ y).sum() / (30 - 1 - np.trace(hat)) ** 2)
    best = PENALTIES.numpy()[np.argmin(errors)]
    assert left.item() == pytest.approx(np.sqrt(min(errors)), rel=1e-6)
    wanted = np.linalg.solve(z.T @ z + best * np.eye(8), z.T @ y) / np.linalg.norm(s, axis=0)
    np.testing.assert_allclose(coefficients, wanted, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("train", [1, 2])
def test_one_or_two_graphs_are_not_learned_by_heart(train: int) -> None:
    predicted, _, _ = fitted(sizes(graphs(GRAPHS)) @ [[3.0], [-0.5]], train=train)
    assert predicted.isfinite().all()
    assert predicted.var() < 1e-4  # the targets of all graphs have a variance of 2 to 20


def test_shards_give_the_same(tmp_path: Path) -> None:
    dataset = graphs(GRAPHS, Task("graph", 1, "l1", "mae"))
    write_shards(tmp_path / "shards", [dataset.subset(np.arange(25)), dataset.subset(np.arange(25, GRAPHS))])
    found = []
    for store in (Resident(dataset), Streamed(Shards.open(tmp_path / "shards"))):
        part = LinearPart(0, None, 1)
        scaler = fit_linear(part, Examples(store, torch.from_numpy(dataset.y).double(), np.arange(GRAPHS), None))
        found.append(torch.cat([part.weight.flatten(), part.bias, scaler.std]))
    torch.testing.assert_close(*found)


def test_the_trainer_fits_it_before_the_first_update(tmp_path: Path) -> None:
    dataset = graphs(GRAPHS, Task("graph", 1, "l1", "mae"))
    dataset.y[:] = sizes(dataset) @ [[3.0], [-0.5]]
    torch.manual_seed(0)
    model = PFGNN(GIN(8, layers=1), 1, particles=2)
    model.linear = LinearPart(0, None, 1)
    config = TrainingConfig(updates=2, batch_size=8, standardise=True)
    made = trainer(tmp_path, config, dataset, model=model)
    assert made.scaler is not None
    assert made.scaler.std.item() < 1e-3  # all of it is a sum, so nothing is left
    assert model.linear.weight.any()
