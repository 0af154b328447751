"""Coverage of the intervals of a fitted model on made-up data, against intervals from the noise of its draws."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import coverage as program
from tests.estimators.samples import QUICK

from pfgnn.data import Dataset
from pfgnn.estimators import PFGNNRegressor
from pfgnn.experiments.coverage import coverage_over_splits
from pfgnn.experiments.fit import FitOptions, Given, fit
from pfgnn.experiments.fit_parts import Shares
from pfgnn.files import read_json
from pfgnn.graphs import Graph


def noisy(count: int, seed: int) -> Dataset:
    """Random graphs; the target is the number of edges, with noise that no model can know."""
    random = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(random.integers(4, 10))
        pairs = np.stack(np.triu_indices(n, 1), 1)
        graphs.append(Graph(n, pairs[random.random(len(pairs)) < 0.4]))
    y = np.array([graph.num_edges for graph in graphs]) + random.normal(0, 2, count)
    return Dataset.from_graphs(graphs, y)


@pytest.mark.slow
def test_ninety_percent_over_twenty_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"training.epochs": 4, "model.width": 16, "model.particles": 2, "evaluation.particles": 2}
    options = FitOptions(Shares(0.05, 0.05, 0.8), changes=changes, device="cpu", draws=2)
    fit(Given(noisy(700, 0)), tmp_path / "model", options)
    monkeypatch.setattr(program, "OUT", tmp_path / "coverage.json")
    monkeypatch.setattr(program, "DRAWS", 4)
    program.main([str(tmp_path / "model")])
    [row] = read_json(tmp_path / "coverage.json")["rows"]
    assert row["graphs"] == 560
    assert 0.88 < row["covered"] < 0.92
    assert row["control"] < 0.5  # the control must fail: the draws do not know the noise of the target


def test_intervals_of_twenty_fits_cover_new_graphs(seed: int) -> None:
    """One model for all: 20 calibration parts, each measured on graphs that nobody saw."""
    pool = noisy(600, seed)
    model = PFGNNRegressor(**{**QUICK, "epochs": 2}).fit(noisy(100, seed + 1))
    splits = coverage_over_splits(model._run.outputs(model._run.prepare(pool), 2), pool.y, pool.task, 0.9)
    assert len(splits) == 20
    assert 0.88 < np.mean([of.covered for of in splits]) < 0.92
    assert np.mean([of.control for of in splits]) < 0.5
