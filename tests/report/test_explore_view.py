"""What the explorer's page says and shows: sentences that fit the picture, rows in sight, and room for halos."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.browser import NARROW, WIDE, browser, opened
from tests.report.explore_samples import cells_of, drawn_cells, page_of, vertex, walk

from pfgnn.experiments.particle_paths import Particle
from pfgnn.graphs import Graph, circulant, random_regular, random_tree, rook
from pfgnn.report.exact_search import Found, search_here
from pfgnn.report.explore import Shown, Walked, write_page
from pfgnn.report.explore_input import Sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]

pytestmark = pytest.mark.slow  # a browser takes seconds to start


def goes_on(page: "Page", name: str) -> bool:
    """Whether the lower edge of a list is faded."""
    return bool(page.locator(name).evaluate("(list) => getComputedStyle(list).maskImage !== 'none'"))


def test_what_is_said_about_orbits_belongs_to_the_shown_round(browser: "Browser", tmp_path: Path) -> None:
    graph = circulant(7, [1])
    with opened(browser, page_of(tmp_path / "ring.html", [graph]), "#path=0") as page:
        comparison = page.locator("#comparison")
        assert "The cells are the orbits" in comparison.inner_text()
        page.locator("#earlier").click()
        assert comparison.inner_text() == (
            "The symmetries that fix the marked vertices have 4 orbits. In this round 1 cell still has vertices of "
            "several orbits. The next rounds tell more of them apart."
        )
        page.get_by_label("orbits").check()
        assert "The cells are the orbits" in comparison.inner_text()
        assert page.locator("#round-name").inner_text().startswith("The picture shows 4 orbits.")
        assert len(drawn_cells(page)) == 4
        assert all(page.locator(f"#{name}").is_disabled() for name in ("earlier", "round", "later", "play"))
        page.get_by_label("1-WL cells").check()
        assert page.locator("#round-name").inner_text().startswith("Round 1 of 2: 3 cells")


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_chosen_row_of_the_tree_is_in_sight(browser: "Browser", tmp_path: Path, width: int) -> None:
    path = page_of(tmp_path / "path.html", [Graph.from_edges(60, [(v, v + 1) for v in range(59)] + [(0, 2)])] * 2)
    in_sight = """() => {
        const [box, row] = ["#tree", "#tree [aria-selected=true] > .row"]
            .map((name) => document.querySelector(name).getBoundingClientRect());
        return row.top >= box.top && row.bottom <= box.bottom;
    }"""
    cubic = page_of(tmp_path / "cubic.html", [random_regular(40, 3, np.random.default_rng(1))])
    with opened(browser, cubic, "#graph=0&path=39", width) as page:
        assert page.evaluate(
            "document.querySelector('#tree').scrollHeight > document.querySelector('#tree').clientHeight"
        )
        assert page.evaluate(in_sight)
        assert page.evaluate("scrollY") == 0  # the page itself did not move
        assert page.locator("#tree-shown").inner_text().endswith("Scroll the list to see the others.")
        vertex(page, 0).click()
        assert page.evaluate(in_sight)
        page.get_by_role("button", name="root", exact=True).click()
        vertex(page, 2).click()
        assert page.evaluate(in_sight)
        page.locator("#tree").evaluate("(list) => (list.scrollTop = 0)")
        page.locator("#earlier").click()
        assert page.locator("#tree").evaluate("(list) => list.scrollTop") == 0  # only the round has changed
        assert goes_on(page, "#tree")
    with opened(browser, path, width=width) as page:
        assert page.locator("#cells-shown").inner_text().startswith("Rows 1 to ")
        page.locator("#cells").evaluate("(list) => (list.scrollTop = list.scrollHeight)")
        page.get_by_text("to 59 of 59").wait_for()
        assert not goes_on(page, "#cells")
        assert page.locator("#tree-shown").is_hidden()


def test_arrow_keys_reach_every_vertex(browser: "Browser", tmp_path: Path) -> None:
    with opened(browser, page_of(tmp_path / "many.html", [random_tree(20, np.random.default_rng(0))])) as page:
        reached = page.evaluate(
            """() => {
                const { points } = trees[0].entry, found = new Set([0]);
                for (const v of found)  // a set goes on with what is added
                    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"])
                        found.add(vertexInDirection(points, v, key));
                const stuck = points.filter(([x], v) =>
                    vertexInDirection(points, v, "ArrowRight") === v && points.some(([other]) => other > x + 0.001));
                return [found.size, stuck.length];
            }"""
        )
        assert reached == [20, 0]


def test_the_halo_of_one_vertex_leaves_room(browser: "Browser", tmp_path: Path) -> None:
    graph = Graph.from_edges(1, [])
    shown = Shown(Sample("one", graph), search_here(graph), Walked([[Particle([0], 1.0)]], "Prediction: y 1."))
    write_page(tmp_path / "one.html", "A test.", [shown], "runs/first")
    with opened(browser, tmp_path / "one.html") as page:
        halo, picture = (page.locator(name).bounding_box() for name in ("#picture .halo", "#picture"))
        assert halo["width"] < 0.5 * picture["width"]  # type: ignore[index]


def test_a_graph_whose_symmetries_were_not_found_is_still_shown(browser: "Browser", tmp_path: Path) -> None:
    graph = rook(4)
    write_page(tmp_path / "hard.html", "A test.", [Shown(Sample("hard", graph), Found())])
    with opened(browser, tmp_path / "hard.html") as page:
        assert "The orbits are not known" in page.locator("#comparison").inner_text()
        assert page.get_by_label("orbits").is_disabled()
        assert page.locator("#tree > li > ul > li[role=treeitem]").count() == 16
        vertex(page, 3).click()
        assert drawn_cells(page) == cells_of(walk(graph, [3])[1].tolist())
