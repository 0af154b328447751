"""Sections of the page of a fitted model: learning curves, words for molecules, and single graphs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.report.fitted_samples import CLASSES, NUMBERS, PARTS, fitted
from tests.report.test_fit_page import read, said

from pfgnn.experiments.fit_baselines import Baseline
from pfgnn.report.fit_certainty_section import certainty_section
from pfgnn.report.fit_graph_section import graph_section
from pfgnn.report.fit_learning_section import learning_section
from pfgnn.report.fit_page import fit_page
from pfgnn.report.fit_score_section import score_section


def test_the_learning_curves_name_their_units() -> None:
    one = fitted(replace(NUMBERS, outputs=1, targets=("logp",)))
    page = "".join(learning_section(one))
    assert "mean absolute error, in units of logp" in page
    assert "loss: absolute error, in units of the target" in page
    standardised = {**one.record, "config": {"training": {"standardise": True}}}
    assert "in standard deviations" in "".join(learning_section(replace(one, record=standardised)))
    linear = {**one.record, "config": {"training": {"standardise": True}, "model": {"linear": True}}}
    assert "in deviations from the linear part" in "".join(learning_section(replace(one, record=linear)))
    assert "Pale lines" not in page
    assert "It mixes the units of the targets" in said(learning_section, fitted())
    page = "".join(learning_section(fitted(record=standardised)))
    assert "mean error of all targets, in standard deviations" in page
    assert "mixes" not in page
    many = [{"epoch": epoch, "loss": 1 / epoch, "validation": None} for epoch in range(1, 40)]
    page = "".join(learning_section(fitted(CLASSES, metrics={"this model": many})))
    assert "Pale lines are the single values. Strong lines are smoothed: the median of 9 values each." in page
    assert "loss: cross-entropy" in page
    assert "Score in validation" not in page


@pytest.mark.parametrize("rare", [0, 1])
def test_of_two_classes_the_rarer_one_of_the_training_part_is_drawn(rare: int) -> None:
    given = fitted(CLASSES)
    assert given.test is not None
    y = np.where(np.arange(60) % 5, 1 - rare, rare)[:, None]
    task = replace(CLASSES, outputs=2, targets=("red", "green"))
    test = given.test._replace(mean=np.eye(2)[y[PARTS["test"], 0]] * 0.8 + 0.1, error=np.full((20, 2), 0.01))
    given = replace(given, dataset=replace(given.dataset, y=y, task=task), test=test, baselines=[])
    name, other = task.targets[rare], task.targets[1 - rare]
    assert f"ROC curve of {name}, from" in said(score_section, given)
    plot = said(certainty_section, given)
    assert f"{name}: dots on the line" in plot
    assert f"{other}: dots on the line" not in plot


def test_molecules_are_called_molecules() -> None:
    given = fitted(smiles=["C"] * 60, classes=np.arange(60), wl_classes=np.arange(60))
    backbone = Baseline("backbone alone", "", np.zeros((20, 2)))
    found = read(fit_page(replace(given, baselines=[backbone])))
    for words in (
        "on 20 test molecules",
        "passes messages along the bonds",
        "with another atom marked in each copy. These copies are the particles.",
        "Molecules to look at",
        "Least like the training molecules",
        "partmoleculesatomsbonds",
        "No molecule occurs twice.",
    ):
        assert words in found.text
    shown = found.text.replace("3 vertices, 2 edges", "").replace(
        "each part of a graph", ""
    )  # of the sample's drawings
    assert re.findall(r"\b(graphs?|vertex|vertices|edges)\b", re.sub(r"vertex \d", "", shown)) == []


def test_graphs_are_named_as_in_the_input_and_their_error_is_told() -> None:
    given = fitted()
    assert given.test is not None
    text = said(graph_section, given)
    assert "graph 44predicted logp" in text
    assert "Least like the training graphs" in text
    assert "2.5 times as far." in text
    error = np.abs(given.test.mean - given.truth)
    assert f"logp {error[6, 0]:.3f} (all: {error[:, 0].mean():.3f})" in text
    assert f"off by {(given.test.mean - given.truth)[4, 0]:+.2f}" in text
    labels = [f"CPD-{row} (line {row + 2})" for row in range(20)]
    assert "CPD-4 (line 6)predicted logp" in said(
        graph_section, replace(given, test=given.test._replace(labels=labels))
    )
