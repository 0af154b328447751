"""Conformal quantiles and temperatures, on scores and logits that are made up."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.calibration import (
    Calibration,
    calibrate,
    chance_range,
    conformal_quantile,
    probabilities,
    read_calibration,
)
from pfgnn.experiments.coverage import coverage_over_splits

RUN = {"data": "c", "seed": 0, "updates": 3, "seconds": {"training": 1.25}, "results": {"test": {"value": 0.5}}}
NUMBERS = Task("graph", 2, "l1", "mae")
CLASSES = Task("graph", 3, "cross_entropy", "accuracy")
PAIR = Task("graph", 2, "cross_entropy", "accuracy")
LABELS = Task("graph", 2, "binary_cross_entropy", "roc_auc")


def test_the_quantile_covers_exactly_by_counting() -> None:
    """Of n + 1 exchangeable scores, the last is at most the quantile of the others in ⌈(n + 1) c⌉ of n + 1 orders."""
    scores = np.arange(5.0)
    for coverage, wanted in ((0.2, 1), (0.5, 3), (0.6, 3), (0.79, 4), (0.8, 4)):
        covered = [
            last <= conformal_quantile(np.sort(rest), coverage)
            for last, *rest in itertools.permutations(scores.tolist())
        ]
        assert np.mean(covered) == pytest.approx(wanted / 5)
    assert conformal_quantile(np.arange(9.0), 0.9) == 8
    with pytest.raises(InputError, match=r"a coverage of 0.9 needs at least 9 graphs for calibration, but there are 8"):
        conformal_quantile(np.arange(8.0), 0.9)


@pytest.mark.parametrize(("held", "tested", "coverage"), [(64, 64, 0.5), (10, 40, 0.9), (9, 1, 0.9), (500, 20, 0.8)])
def test_the_range_of_coverages_is_that_of_many_draws(held: int, tested: int, coverage: float, seed: int) -> None:
    """Scores of both parts come from one distribution. At least 95 % of the draws lie in the range, at most 5 % out."""
    draws = 20_000
    random = np.random.default_rng(seed)
    rank = int(np.ceil(round((held + 1) * coverage, 9)))
    half = np.sort(random.random((draws, held)))[:, rank - 1]
    shares = random.binomial(tested, half) / tested  # uniform scores: the share below q is q
    low, high = chance_range(held, tested, coverage)
    outside = [(shares < low - 1e-9).mean(), (shares > high + 1e-9).mean()]
    assert max(outside) < 0.025 + 0.007  # six standard errors
    inside = [(shares < low + 1e-9).mean(), (shares > high - 1e-9).mean()]
    assert min(inside) > 0.025 - 0.007  # so the range is not too wide


def test_each_target_has_its_own_residuals(tmp_path: Path) -> None:
    y = np.array([[1.0, 10.0], [2.0, np.nan], [3.0, 30.0]])
    outputs = [torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), torch.tensor([[3.0, 0.0], [1.0, 0.0], [1.0, 0.0]])]
    found = calibrate(outputs, y, NUMBERS)
    assert [of.tolist() for of in found.scores] == [[1, 1, 2], [10, 30]]
    found.write(tmp_path, RUN)
    again = read_calibration(tmp_path, NUMBERS, RUN)
    assert again is not None
    np.testing.assert_array_equal(again.quantiles(0.5), found.quantiles(0.5))
    (tmp_path / "calibration.json").write_text('{"format": 2}')
    with pytest.raises(InputError, match=r"calibration.json must have a format of at most 1, but it has 2: a newer"):
        read_calibration(tmp_path, NUMBERS, RUN)


def test_the_calibration_of_another_run_is_refused(tmp_path: Path) -> None:
    calibrate([torch.zeros(3, 2)], np.ones((3, 2)), NUMBERS).write(tmp_path, RUN)
    assert read_calibration(tmp_path, NUMBERS, {**RUN, "commit": "the same run, packed"}) is not None
    for key, value in (("data", "d"), ("seed", 1), ("seconds", {"training": 1.26}), ("results", {})):
        with pytest.raises(InputError, match=r"calibration.json must be the calibration of this model, but it is that"):
            read_calibration(tmp_path, NUMBERS, {**RUN, key: value})


@pytest.mark.parametrize(
    ("scores", "temperature", "sentence"),
    [
        ([], 1, "must have scores of 2 targets, as the model has, but it has 0"),
        ([[1.0], [2.0, 1.0]], 1, "must have scores that are not negative and ascend, but it has others"),
        ([[-1.0], [1.0]], 1, "must have scores that are not negative and ascend"),
        ([[1.0], [float("nan")]], 1, "must have scores that are not negative and ascend"),
        ([[[1.0]], [1.0]], 1, "must have scores that are not negative and ascend"),
        ([[1.0], [1.0]], 0, "must have a temperature above 0, but it has 0"),
        ([[1.0], "a"], 1, "must be the calibration of a model, as `pfgnn fit` writes it"),
    ],
)
def test_a_damaged_calibration_is_refused(tmp_path: Path, scores: object, temperature: float, sentence: str) -> None:
    """It would give wrong intervals without a word."""
    content = {"format": 1, "temperature": temperature, "draws": 2, "scores": scores}
    (tmp_path / "calibration.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=f"calibration.json {sentence}"):
        read_calibration(tmp_path, NUMBERS, RUN)


@pytest.mark.parametrize("task", [CLASSES, LABELS])
@pytest.mark.parametrize("true", [0.5, 1.0, 2.5])
def test_the_temperature_is_found_again(task: Task, true: float, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(4000, task.outputs, generator=random, dtype=torch.float64)
    p = probabilities(logits, task, true)
    if task is CLASSES:
        y = torch.multinomial(p, 1, generator=random).numpy()
    else:
        y = torch.bernoulli(p, generator=random).numpy()
        y[::3, 0] = np.nan
    assert calibrate([logits], y, task).temperature == pytest.approx(true, rel=0.15)


def test_a_few_right_answers_do_not_make_it_sure() -> None:
    logits = torch.tensor([[2.0, 0.0, 0.0]]).repeat(10, 1)
    p = probabilities(logits, CLASSES, calibrate([logits], np.zeros((10, 1)), CLASSES).temperature)
    assert 0.8 < float(p[0, 0]) < 0.97
    assert Calibration((np.zeros(1),)).temperature == 1


def test_each_class_has_its_own_quantile_and_the_rarest_share_one(tmp_path: Path) -> None:
    """With a coverage of a half a class needs one graph, with 0.75 three."""
    p = torch.tensor([[0.5, 0.3, 0.2]] * 6, dtype=torch.float64)
    found = calibrate([10 * p.log()], np.array([[0], [0], [0], [0], [1], [2]]), CLASSES)
    assert [len(of) for of in found.scores] == [4, 1, 1]
    assert found.groups(0.5) == [[1], [2], [0]]
    assert found.groups(0.6) == [[1, 2], [0]]
    assert found.groups(0.75) == [[1, 2, 0]]
    q = found.quantiles(0.6)
    assert q[1] == q[2] == max(found.scores[1][0], found.scores[2][0]) > q[0] == found.scores[0][0]
    with pytest.raises(InputError, match=r"a coverage of 0.9 needs at least 9 graphs for calibration, but there are 6"):
        found.quantiles(0.9)
    found.write(tmp_path, RUN)
    again = read_calibration(tmp_path, CLASSES, RUN)
    assert again is not None
    assert again.by_class
    np.testing.assert_allclose(again.quantiles(0.6), q, rtol=1e-8)
    with pytest.raises(InputError, match=r"must have scores of 2 classes, as the model has, but it has 3"):
        read_calibration(tmp_path, replace(CLASSES, outputs=2), RUN)


def test_sets_of_an_earlier_version_are_those_of_all_classes_together(tmp_path: Path) -> None:
    content = {"format": 1, "temperature": 1, "draws": 2, "scores": [[0.1, 0.2, 0.9]]}
    (tmp_path / "calibration.json").write_text(json.dumps(content))
    found = read_calibration(tmp_path, CLASSES, RUN)
    assert found is not None
    assert not found.by_class
    np.testing.assert_array_equal(found.quantiles(0.5), [0.2])


def test_a_rare_class_is_covered_as_often_as_others(seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    rare = torch.rand(6000, generator=random) < 0.08
    logits = torch.stack([torch.full((6000,), 2.0), torch.randn(6000, generator=random) + rare], 1).double()
    [cover] = np.mean(
        [[of.by_class for of in coverage_over_splits([logits], rare[:, None].numpy(), PAIR, 0.9)]], axis=1
    )
    assert 0.88 < cover[0] < 0.92
    assert 0.84 < cover[1] < 0.96  # of some 240 graphs: three standard errors
    pooled = Calibration((np.sort(1 - torch.where(rare, logits.softmax(1)[:, 1], logits.softmax(1)[:, 0]).numpy()),))
    held = 1 - logits.softmax(1)[rare, 1] <= pooled.quantiles(0.9)[0]
    assert held.double().mean() < 0.6  # the control: one quantile for all classes


def test_coverage_over_twenty_splits(seed: int) -> None:
    """Conformal sets cover 90 % though the model is too sure of itself; sets from its own probabilities do not."""
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(1000, 3, generator=random, dtype=torch.float64)
    y = torch.multinomial(logits.softmax(-1), 1, generator=random).numpy()
    found = coverage_over_splits([8 * logits], y, CLASSES, 0.9)
    assert 0.88 < np.mean([of.covered for of in found]) < 0.92
    assert np.mean([of.control for of in found]) < 0.8
    before, after = np.mean([of.loss for of in found], axis=0)
    assert after < before
    labels = np.concatenate([y == 0, y == 1], 1).astype(float)
    sure = coverage_over_splits([8 * logits[:, :2]], labels, LABELS, 0.9)
    assert 0.88 < np.mean([of.covered for of in sure]) < 0.92
