"""Coverage of the intervals of a fitted model on made-up data, against intervals from the noise of its draws."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import coverage as program
from benchmarks.coverage import fit_noisy, noisy_edges
from tests.estimators.samples import QUICK

from pfgnn.estimators import PFGNNRegressor
from pfgnn.experiments.coverage import coverage_over_splits
from pfgnn.files import read_json


@pytest.mark.slow
def test_ninety_percent_over_twenty_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit_noisy(tmp_path / "model", 700)
    monkeypatch.setattr(program, "OUT", tmp_path / "coverage.json")
    monkeypatch.setattr(program, "DRAWS", 4)
    program.main([str(tmp_path / "model")])
    [row] = read_json(tmp_path / "coverage.json")["rows"]
    assert row["graphs"] == 560
    assert 0.88 < row["covered"] < 0.92
    assert row["control"] < 0.5  # the control must fail: the draws do not know the noise of the target


def test_intervals_of_twenty_fits_cover_new_graphs(seed: int) -> None:
    """One model for all: 20 calibration parts, each measured on graphs that nobody saw."""
    pool = noisy_edges(2400, seed)  # the mean over the splits then has a deviation of 0.003
    model = PFGNNRegressor(**{**QUICK, "epochs": 2}).fit(noisy_edges(100, seed + 1))
    splits = coverage_over_splits(model._run.outputs(model._run.prepare(pool), 2), pool.y, pool.task, 0.9)
    assert len(splits) == 20
    assert 0.88 < np.mean([of.covered for of in splits]) < 0.92
    assert np.mean([of.control for of in splits]) < 0.5
