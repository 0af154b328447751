"""The page of a fitted model: what it says, and that it is whole and harmless."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from tests.report.fitted_samples import CLASSES, LABELS, NUMBERS, PARTS, WILD, fitted

from pfgnn.data.task import Task
from pfgnn.experiments.fit_baselines import FOREST, Baseline
from pfgnn.report.fit_certainty_section import certainty_section, log_loss
from pfgnn.report.fit_data_sections import data_section
from pfgnn.report.fit_page import fit_page
from pfgnn.report.fit_score_section import score_section, verdicts
from pfgnn.report.fitted import Fitted, graph_errors, graph_uncertainty, target_scale
from pfgnn.report.html import Html

EMPTY = ("meta", "br")  # elements without an end


class Reader(HTMLParser):
    """Checks that each element ends, and notes tags, ids, links and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.note(attrs)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.note(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data

    def note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            assert not name.startswith("on"), f"{name} would run a script"
            if name == "id" and value:
                self.ids.append(value)
            if name in ("href", "src", "xlink:href") and value:
                self.links.append(value)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def said(section: Callable[[Fitted], list[Html]], given: Fitted) -> str:
    """The text of one section."""
    return read("".join(section(given))).text


@pytest.mark.parametrize("task", [NUMBERS, CLASSES, LABELS], ids=["numbers", "classes", "labels"])
def test_a_page_is_whole_and_needs_nothing_else(task: Task) -> None:
    page = fit_page(fitted(task))
    found = read(page)
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(found.tags)
    assert all(link.startswith("#") for link in found.links)
    assert {link[1:] for link in found.links} <= set(found.ids)
    assert len(set(found.ids)) == len(found.ids)
    assert re.findall(r"url\((?!#)", page) == []
    pictures = [tag for tag in found.tags if tag == "figure"]
    assert len(pictures) == page.count('role="img" aria-label="')
    for words in ("How good it is", "How it learned", "How sure it is", "The worst predictions", "All settings"):
        assert words in found.text


def test_each_target_has_its_own_score_and_its_own_best_simple_model() -> None:
    """The targets differ in their units by a factor of 1000, so nothing is averaged over both."""
    given = fitted()
    assert given.test is not None
    unit = np.array([1.0, 1000.0])
    errors = given.test.mean - given.truth
    test = given.test._replace(mean=given.test.mean * unit)
    given = replace(given, test=test, dataset=replace(given.dataset, y=given.dataset.y * unit.astype(np.float32)))
    best_at_logp, best_at_mass = (
        Baseline(f"twin {column}", "good at one", given.truth + 3 * (errors - np.eye(2)[column] * errors) * unit)
        for column in (0, 1)
    )
    text = said(score_section, replace(given, baselines=[best_at_logp, best_at_mass]))
    each = np.abs(test.mean - given.truth).mean(axis=0)
    assert f"logp: the mean absolute error is {each[0]:.3f} on 20 test graphs. The best simple model is twin 0" in text
    assert f"mass: the mean absolute error is {each[1]:,.0f} on 20 test graphs. The best simple model is twin 1" in text
    assert f"{each.mean():,.3g}" not in text
    assert text.count("modelMAERMSER²") == 2  # a table for each target


def test_the_verdict_says_whether_a_simple_model_is_as_good() -> None:
    given = fitted(replace(NUMBERS, outputs=1, targets=("logp",)))
    assert given.test is not None
    errors = given.test.mean - given.truth
    text = said(score_section, given)
    error = np.abs(errors).mean()
    opening = "On 20 test graphs that were not used in training, the mean absolute error of logp is"
    assert f"{opening} {error:.3f}. The best simple model is constant, with" in text
    assert "no better" not in text
    for name, prediction, sentence in (
        ("perfect", given.truth, "perfect, with 0.000: this model is no better than that."),
        ("rolled", given.truth + 1.02 * np.roll(errors, 7, axis=0), "with so few test graphs the lead may be chance"),
    ):
        assert sentence in said(score_section, replace(given, baselines=[Baseline(name, "", prediction)]))
    always = Baseline("shadow", "a little worse in every graph", given.truth + 1.02 * errors)
    assert "chance" not in said(score_section, replace(given, baselines=[always]))


def test_errors_stand_beside_rmse_and_r2() -> None:
    given = fitted(replace(NUMBERS, outputs=1, targets=("logp",)))
    assert given.test is not None
    truth, errors = given.truth[:, 0], (given.test.mean - given.truth)[:, 0]
    text = said(score_section, given)
    assert f"{np.sqrt((errors**2).mean()):.3f}" in text
    assert f"{1 - (errors**2).sum() / ((truth - truth.mean()) ** 2).sum():.3f}" in text


def test_classes_have_accuracy_area_confusions_and_log_loss() -> None:
    given = fitted(CLASSES, noise=0.3, target="colour")
    assert given.test is not None
    text = said(score_section, given)
    assert "the accuracy of colour is 1.000" in text
    assert "modelaccuracyAUC" in text
    assert "true classpredicted redpredicted greenpredicted blue" in text
    assert "The log loss of colour is 0.223" in said(certainty_section, given)  # -log 0.8
    (target,) = given.targets
    assert log_loss(target, given.test.mean, given.truth) == pytest.approx(-np.log(0.8))
    labels = fitted(LABELS)
    text = said(score_section, labels)
    assert "modelAUCaccuracy" in text
    assert "Mean over 2 targets: the area under the ROC curve is " in text
    assert "no better" not in text.partition("Mean over")[2].partition("labelhas")[0]
    assert labels.test is not None
    worse = labels.test._replace(mean=1 - labels.test.mean)
    text = said(score_section, replace(labels, test=worse))
    assert "The best simple model by this is constant, with 0.500: this model is no better than that." in text
    text = said(score_section, labels)
    assert "labelhas it, foundhas it, missedhas it not, wrong alarmhas it not, right" in text
    assert "The log loss of toxic is" in said(certainty_section, labels)


def test_a_rare_class_is_judged_by_the_area_under_its_roc_curve() -> None:
    """All predictions name the frequent class, so the accuracy is that of the constant. The model ranks them wrong."""
    given = fitted(CLASSES, target="colour")
    assert given.test is not None
    y = given.dataset.y.copy()
    y[PARTS["test"]] = (np.arange(20) < 3)[:, None]
    mean = np.tile([0.8, 0.1, 0.1], (20, 1))
    mean[:3] = [0.85, 0.05, 0.1]
    given = replace(given, dataset=replace(given.dataset, y=y), test=given.test._replace(mean=mean))
    text = said(score_section, given)
    assert "the mean area under the ROC curve of colour is 0.000. The best simple model is constant, with 0.500" in text
    assert "this model is no better than that" in text
    assert "modelAUCaccuracy" in text
    (line,) = verdicts(given)
    assert line.startswith("colour, mean area under the ROC curve: PF-GNN (this model) 0.000, constant 0.500. The best")
    assert line.endswith("this model is no better than that.")


def test_a_missing_forest_is_told() -> None:
    molecules = fitted(smiles=["C"] * 60)
    assert "The random forest was left out: it needs scikit-learn" in said(score_section, molecules)
    forest = Baseline(FOREST, "", molecules.truth)
    for given in (fitted(), replace(molecules, baselines=[forest]), replace(molecules, baselines=[])):
        assert "scikit-learn" not in said(score_section, given)


def test_a_forest_tells_each_target_its_own_number_of_molecules() -> None:
    given = fitted(NUMBERS)
    text = said(score_section, replace(given, baselines=[Baseline(FOREST, "trees", given.truth, (30, 17))]))
    assert text.index("trees of 30 training molecules") < text.index("trees of 17 training molecules")


def test_probabilities_of_few_graphs_are_not_judged() -> None:
    given = fitted(CLASSES)
    assert given.test is not None
    assert "Expected calibration error, the mean distance of the dots" in said(certainty_section, given)
    few = given.test._replace(**{name: getattr(given.test, name)[:19] for name in ("graphs", "mean", "error")})
    given = replace(given, test=few, baselines=[])
    text = said(certainty_section, given)
    assert "With 19 test graphs the probabilities cannot be checked: a plot needs 20 at least." in text
    assert "Expected calibration error" not in text
    labels = fitted(LABELS)
    assert labels.test is not None
    few = labels.test._replace(**{name: getattr(labels.test, name)[:19] for name in ("graphs", "mean", "error")})
    assert "With so few (toxic: 19, soluble: 1" in said(certainty_section, replace(labels, test=few, baselines=[]))
    assert "<svg" not in "".join(certainty_section(given))


def test_texts_from_files_are_shown_and_do_nothing() -> None:
    wild = Task("graph", 2, "l1", "mae", (WILD, "mass"))
    given = fitted(
        title=WILD,
        names=[WILD, "b"],
        smiles=[WILD] * 60,
        rejects=[WILD] * 60,
        about={WILD: WILD},
        config=WILD,
        folder=WILD,
        metrics={WILD: [{"epoch": 1, "loss": 1.0, "validation": 2.0}]},
        baselines=[Baseline(WILD, WILD, np.zeros((20, 2)))],
        parts={**PARTS, WILD: np.arange(3)},
    )
    page = fit_page(replace(given, dataset=replace(given.dataset, task=wild)))
    found = read(page)
    assert "script" not in found.tags
    assert found.text.count(WILD) > 60  # 50 of the rejected lines, and the rest
    assert "10 more are in rejects.txt." in found.text


def test_class_names_from_files_do_nothing() -> None:
    wild = Task("graph", 3, "cross_entropy", "accuracy", (WILD, "green", "blue"))
    given = fitted(CLASSES)
    found = read(fit_page(replace(given, dataset=replace(given.dataset, task=wild))))
    assert "script" not in found.tags
    assert f"predicted {WILD}" in found.text


@pytest.mark.parametrize(
    ("section", "changed", "sentence"),
    [
        (score_section, {"test": None, "pictures": ()}, "nothing is known about new graphs"),
        (data_section, {}, "`pfgnn diagnose` looks for graphs that occur twice"),
        (certainty_section, {"calibration": None}, "there are no intervals"),
        (data_section, {"classes": np.arange(60)}, "No graph occurs twice."),
        (data_section, {"classes": np.arange(60) % 50}, "10 of 60 graphs are copies of an earlier one."),
        (data_section, {"classes": np.arange(60) % 50}, "10 graphs of the test part are also in the training part"),
        (data_section, {"classes": np.r_[0, 0, np.arange(2, 60)]}, "2 graphs have a copy with another target"),
        (data_section, {"classes": np.arange(60), "wl_classes": np.arange(60)}, "can tell all different graphs apart"),
        (data_section, {"classes": np.arange(60), "wl_classes": np.arange(60) // 2}, "30 graphs look like another"),
        (
            data_section,
            {"classes": np.r_[0, 0, np.arange(2, 60)]},
            "None of the test part is also in the training part.",
        ),
        (data_section, {"rejects": ["line 3: not a molecule"]}, "1 line was left out"),
    ],
)
def test_what_is_missing_or_found_is_said(
    section: Callable[[Fitted], list[Html]], changed: dict[str, Any], sentence: str
) -> None:
    assert sentence in said(section, fitted(**changed))


def test_unknown_targets_and_a_test_part_of_one_class() -> None:
    given = fitted(LABELS)
    y = given.dataset.y.copy()
    y[::2, 0] = np.nan
    told = said(score_section, replace(given, dataset=replace(given.dataset, y=y)))
    assert "toxic: the area under the ROC curve is 1.000 on 10 test graphs." in told
    y[40:] = 1
    told = said(score_section, replace(given, dataset=replace(given.dataset, y=y)))
    assert "toxic: the test part has too few classes or values to be scored." in told


def test_coverage_is_counted_on_the_test_part() -> None:
    """With errors of 1 and held-out scores from 0.1 to 5.0, intervals hold the truth if their half width is 1."""
    given = fitted()
    assert given.test is not None
    shifted = given.test._replace(mean=given.truth + 1)
    scores = np.arange(1, 51) / 10
    text = said(certainty_section, replace(given, test=shifted, calibration=[scores, scores / 10]))
    assert "logp: 20 of 20 test graphs (100 %) lie in their 90 % interval, which is the prediction ± 4.60." in text
    assert "mass: 0 of 20 test graphs (0 %) lie in their 90 % interval, which is the prediction ± 0.460." in text
    assert "50 %20 of 20 (100 %)± 2.60" in text  # the 26th of 50 scores
    assert "95 %20 of 20 (100 %)± 4.90" in text
    assert "50 %0 of 20 (0 %)± 0.260" in text


def test_errors_and_uncertainties_pick_the_right_graphs() -> None:
    for task in (NUMBERS, CLASSES, LABELS):
        given: Fitted = fitted(task, noise=0.1)
        assert given.test is not None
        mean = given.test.mean.copy()
        truth = given.truth
        if task is NUMBERS:
            mean[7] += 5
        else:
            mean[7] = 1 - mean[7]
        error = given.test.error.copy()
        error[2] = 1
        scale = target_scale(given.dataset, PARTS["train"])
        test = given.test._replace(mean=mean, error=error)
        assert int(np.nanmax(graph_errors(task, test, truth, scale), axis=1).argmax()) == 7
        mean[2] = 0.5 if task is LABELS else 1 / 3
        assert int(graph_uncertainty(task, test, scale).argmax()) == 2
