"""The page of a fitted model in a real browser: wide and narrow, without a network, with hostile names."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import NARROW, WIDE, browser, check_dark, check_page, opened
from tests.report.fitted_samples import CLASSES, NUMBERS, WILD, fitted

from pfgnn.data.task import Task
from pfgnn.report.fit_page import fit_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("task", [NUMBERS, CLASSES], ids=["numbers", "classes"])
def test_it_fits_the_window_and_says_nothing(browser: "Browser", tmp_path: Path, task: Task, width: int) -> None:
    (tmp_path / "report.html").write_text(fit_page(fitted(task)), encoding="utf-8")
    with opened(browser, tmp_path / "report.html", width=width) as page:
        check_page(page)
        pictures = page.locator("figure svg")
        assert pictures.count() >= 4
        for number in range(pictures.count()):
            box = pictures.nth(number).bounding_box()
            assert box is not None
            assert box["width"] > 150
            assert box["height"] > 100
            assert box["x"] + box["width"] <= width
        drawings = page.locator("figure > [role=img]").all()
        assert all(drawing.get_attribute("aria-label") for drawing in drawings)
        small = "texts => texts.filter((text) => text.getBoundingClientRect().height < 11).length"
        assert page.locator("figure svg > text").evaluate_all(small) == 0  # the scales below the drawings
        first = page.locator("td:first-child").evaluate_all("cells => cells.map((cell) => cell.clientWidth)")
        assert min(first) >= 80
        if width == WIDE:  # no table is cut
            cut = "tables => tables.filter((table) => table.scrollWidth > table.clientWidth).length"
            assert page.locator(".wide").evaluate_all(cut) == 0
    check_dark(browser, tmp_path / "report.html", width)


@pytest.mark.slow
def test_names_from_files_run_nothing(browser: "Browser", tmp_path: Path) -> None:
    wild = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
    given = fitted(title=wild, smiles=[wild] * 60, rejects=[wild, WILD], config=wild, names=[wild, "b"])
    task = Task("graph", 2, "l1", "mae", (wild, "mass"))
    text = fit_page(replace(given, dataset=replace(given.dataset, task=task)))
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    with opened(browser, tmp_path / "report.html", width=NARROW) as page:
        check_page(page)
        assert page.title() == f"Model of {wild}"
        assert page.locator("img, script").count() == 0
