"""The HTML page of results: one file, with all tables and pictures, in a real browser too."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import NARROW, WIDE, browser, check_page, opened
from tests.report.records import run, write, write_brec

from pfgnn.experiments.tables import TABLES
from pfgnn.report.results_html import curve_groups, inline, results_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

WILD = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some records of each kind."""
    folder = tmp_path_factory.mktemp("results")
    write(folder, "table8", "csl-t4-k8", [run(0, fold, test={"accuracy": 0.9}) for fold in range(5)])
    write(folder, "zinc-particles", "uniform-k4", [run(seed, validation={"mae": 0.2}) for seed in range(3)])
    write(folder, "zinc", "ours", [{**run(0, test={"mae": 0.07}), "device": WILD}])
    write_brec(folder, {0: 0, 1: 1, 2: 2, 110: None})
    for name in ("zinc-ours", "zinc-own"):
        (folder / "curves" / name).mkdir(parents=True)
        line = '{{"epoch": {0}, "loss": {1}, "validation": {1}}}\n'
        lines = [line.format(epoch, 1 / epoch) for epoch in (1, 2, 3)]
        (folder / "curves" / name / "seed0.jsonl").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def page(results: Path) -> str:
    return results_html(results, list(TABLES))


def test_every_table_is_a_section_with_the_same_numbers(page: str) -> None:
    assert re.findall(r'<section id="([^"]+)"', page) == ["curves", *TABLES, "brec", "sources"]
    quoted = "10<small>(Dwivedi et al., 2020)</small>"
    for text in ("0.070", "90.00 ± 0.00", "not run yet", quoted, "287", "3 of 60 compared"):
        assert text in page


def test_pictures_say_what_they_show(page: str) -> None:
    alts = re.findall(r'role="img" aria-label="([^"]+)"', page)
    assert len(alts) == page.count("<figure>")
    assert "zinc: loss in training by epoch, of ours; zinc-own" in alts
    assert "Heat map of CSL by K and T, published. The table below has the numbers." in alts
    assert "Heat map of TRIANGLES-large by K and T, ours: not run yet. The table below has the numbers." in alts
    assert any(alt.startswith("Bars of the pairs of BREC") for alt in alts)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)


def test_some_tables_alone(results: Path) -> None:
    page = results_html(results, ["zinc"])
    assert re.findall(r'<section id="([^"]+)"', page) == ["zinc", "sources"]


def test_without_records_it_says_so(tmp_path: Path) -> None:
    page = results_html(tmp_path, list(TABLES))
    assert "There are no learning curves: not run yet." in page
    assert "ours. It is not run yet." in page


def test_curves_are_named_after_rows(results: Path) -> None:
    groups = curve_groups(results)
    assert {dataset: list(runs) for dataset, runs in groups.items()} == {"zinc": ["ours", "zinc-own"]}


def test_markdown_of_a_line() -> None:
    assert inline("**a** `b` [c](#d-e) [`f`](../g) <h>") == (
        '<strong>a</strong> <code>b</code> <a href="#d-e">c</a> <code>f</code> &lt;h&gt;'
    )
    assert "href" not in inline("[x](javascript:alert)")


@pytest.mark.slow
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_it_fits_the_window_and_says_nothing(browser: "Browser", tmp_path: Path, page: str, width: int) -> None:
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    with opened(browser, tmp_path / "report.html", width=width) as shown:
        check_page(shown)
        assert shown.title() == "PF-GNN: results beside the published numbers"
        assert shown.locator("img, script").count() == 0
        if width == WIDE:  # no column is out of sight
            fits = "[...document.querySelectorAll('.wide')].every((of) => of.scrollWidth <= of.clientWidth)"
            assert shown.evaluate(fits)
        for box in (picture.bounding_box() for picture in shown.locator("figure svg").all()):
            assert box is not None
            assert box["width"] > 250
            assert box["x"] + box["width"] <= width
        assert all(picture.get_attribute("aria-label") for picture in shown.locator("figure > [role=img]").all())
        shown.locator("a[href='#table8']").focus()
        shown.keyboard.press("Enter")
        top = shown.locator("#table8").bounding_box()
        assert top is not None
        assert abs(top["y"]) < 50
