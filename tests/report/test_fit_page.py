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
from pfgnn.experiments.fit_baselines import Baseline
from pfgnn.report.fit_data_sections import data_section
from pfgnn.report.fit_page import fit_page
from pfgnn.report.fit_sections import certainty_section, score_section
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


def test_the_test_error_stands_beside_the_simple_models() -> None:
    given = fitted()
    assert given.test is not None
    text = said(score_section, given)
    error = np.abs(given.test.mean - given.truth).mean()
    assert f"the mean absolute error is {error:.3g}." in text
    assert "Constant, the best of the simple models, has" in text
    assert "no better" not in text
    each = np.abs(given.test.mean - given.truth).mean(axis=0)
    for name, value in zip(("logp", "mass"), each.tolist(), strict=True):
        assert f"{name}{value:.3g} (" in text  # a table with a row for each target
    good = Baseline("perfect", "knows the answer", given.truth)
    assert "Perfect, the best of the simple models, has 0: this model is no better than that." in said(
        score_section, replace(given, baselines=[good])
    )
    errors = given.test.mean - given.truth
    elsewhere = Baseline("twin", "errs as much, in other graphs", given.truth + 1.02 * np.roll(errors, 7, axis=0))
    assert "the lead may be chance" in said(score_section, replace(given, baselines=[elsewhere]))
    always = Baseline("shadow", "a little worse in every graph", given.truth + 1.02 * errors)
    told = said(score_section, replace(given, baselines=[always]))
    assert "Shadow, the best of the simple models, has" in told
    assert "chance" not in told


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
    assert "area under the ROC curve" in said(score_section, replace(given, dataset=replace(given.dataset, y=y)))
    y[40:] = 1
    told = said(score_section, replace(given, dataset=replace(given.dataset, y=y)))
    assert "The test part has too few classes or values to be scored." in told


def test_coverage_is_counted_on_the_test_part() -> None:
    """With errors of 1 and held-out scores from 0.1 to 5.0, intervals hold the truth if their half width is 1."""
    given = fitted()
    assert given.test is not None
    shifted = given.test._replace(mean=given.truth + 1)
    scores = np.arange(1, 51) / 10
    text = said(certainty_section, replace(given, test=shifted, calibration=[scores, scores]))
    assert "50 %100.0 %± 2.6± 2.6" in text  # the 26th of 50 scores
    assert "95 %100.0 %± 4.9± 4.9" in text
    text = said(certainty_section, replace(given, test=shifted, calibration=[scores / 10, scores / 10]))
    assert "50 %0.0 %± 0.26" in text


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
