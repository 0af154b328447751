"""The explorer's page in a browser: its refinement, orbits and tree are those of pfgnn.graphs, and its clicks work."""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.browser import NARROW, WIDE, browser, check_dark, check_page, opened
from tests.report.explore_samples import (
    cells_of,
    drawn_cells,
    hexagon_and_triangles,
    many_graphs,
    page_of,
    vertex,
    walk,
    wl_rounds,
)

from pfgnn.experiments.particle_paths import Particle
from pfgnn.graphs import (
    SearchTree,
    circulant,
    random_graph,
    shrikhande,
    smallest_cell,
)
from pfgnn.report.exact_search import search_here
from pfgnn.report.explore import Shown, Walked, write_page
from pfgnn.report.explore_input import Sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]

pytestmark = pytest.mark.slow  # a browser takes seconds to start


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a ring of six vertices and of two rings of three."""
    return page_of(tmp_path_factory.mktemp("explore") / "pair.html", hexagon_and_triangles())


@pytest.fixture
def page(browser: "Browser", pair: Path) -> "Iterator[Page]":
    with opened(browser, pair) as page:
        yield page


def test_refinement_target_cells_and_orbits_are_those_of_python(browser: "Browser", tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = many_graphs(rng)
    walks = []
    for number, graph in enumerate(graphs):
        for length in (0, 1, 1, 2, 3):
            path = rng.integers(0, graph.num_nodes, length).tolist()  # also vertices with a colour of their own
            walks.append((number, path))
    with opened(browser, page_of(tmp_path / "many.html", graphs)) as page:
        found = page.evaluate(
            """(walks) => walks.map(([number, path]) => {
                const node = trees[number].node(path);
                return {rounds: node.rounds, target: node.target, orbits: trees[number].orbits(node)};
            })""",
            walks,
        )
    split = 0
    for (number, path), node in zip(walks, found, strict=True):
        graph = graphs[number]
        start, colours, orbits = walk(graph, path)
        said = f"graph {number}, path {path}"
        assert node["rounds"][-1] == colours.tolist(), said
        assert list(map(cells_of, node["rounds"])) == wl_rounds(graph, start), said
        assert node["target"] == smallest_cell(colours).tolist(), said
        assert node["orbits"] == orbits.tolist(), said
        split += len(set(orbits.tolist())) > len(set(colours.tolist()))
    assert split > 0  # some cells are no orbits, so the two are told apart


def test_the_pruned_tree_stands_for_all_leaves(browser: "Browser", tmp_path: Path) -> None:
    graphs = [
        *hexagon_and_triangles(),
        shrikhande(),
        circulant(7, [1, 2]),
        random_graph(7, 7, np.random.default_rng(3)),
    ]
    with opened(browser, page_of(tmp_path / "trees.html", graphs)) as page:
        leaves = page.evaluate(
            """() => trees.map((tree) => {
                const leaves = [];
                const below = (path, alike) => {
                    const node = tree.node(path);
                    if (node.target.length === 0) leaves.push(alike);
                    for (const branch of tree.branches(node, undefined, false).list)
                        below([...path, branch.vertex], [...alike, branch.alike.length]);
                };
                below([], []);
                return leaves;
            })"""
        )
    for graph, found in zip(graphs, leaves, strict=True):
        everything = list(SearchTree(graph).leaves())
        assert sum(map(prod, found)) == len(everything)
    assert len(leaves[0]) == 1  # of 12
    assert len(leaves[2]) < 192


def test_a_click_marks_a_vertex_and_shows_its_cells(page: "Page") -> None:
    graph = hexagon_and_triangles()[0]
    assert drawn_cells(page) == [set(range(6))]
    vertex(page, 2).click()
    assert drawn_cells(page) == cells_of(walk(graph, [2])[1].tolist()) == [{0, 4}, {1, 3}, {2}, {5}]
    assert "Marked 2. 1-WL made 4 cells in 2 rounds." in page.locator("#status").inner_text()
    listed = page.locator("#cells li").all_inner_texts()
    assert sorted(listed) == ["0 4", "1 3", "2", "5"]
    assert vertex(page, 2).get_attribute("aria-label") == "vertex 2, in cell 1, which has 1 vertex, marked in step 1"
    assert page.locator("#tree [aria-selected=true]").get_attribute("data-path") == "2"
    vertex(page, 2).click()
    assert "already has a colour of its own" in page.locator("#status").inner_text()
    vertex(page, 0).click()
    assert drawn_cells(page) == [{v} for v in range(6)]
    assert "a leaf of the tree" in page.locator("#status").inner_text()


def test_going_back(page: "Page") -> None:
    assert page.locator("#back").is_disabled()
    vertex(page, 2).click()
    vertex(page, 0).click()
    page.locator("#back").click()
    assert len(drawn_cells(page)) == 4
    page.go_back()  # the browser's own button: to where Back was clicked
    page.wait_for_function("document.querySelectorAll('#cells li').length === 6")
    page.get_by_role("button", name="root", exact=True).click()
    assert drawn_cells(page) == [set(range(6))]


def test_rounds_one_by_one(page: "Page") -> None:
    graph = hexagon_and_triangles()[0]
    vertex(page, 0).click()
    expected = wl_rounds(graph, walk(graph, [0])[0])
    assert len(expected) == 3
    assert drawn_cells(page) == expected[2]
    page.locator("#earlier").click()
    assert drawn_cells(page) == expected[1]
    page.locator("#earlier").click()
    assert drawn_cells(page) == expected[0] == [{0}, {1, 2, 3, 4, 5}]
    assert page.locator("#earlier").is_disabled()
    page.locator("#round").fill("1")
    assert page.locator("#round-name").inner_text() == "Round 1 of 2: 3 cells, not yet stable."
    page.locator("#later").click()
    assert drawn_cells(page) == expected[2]


def test_rounds_are_played(page: "Page") -> None:
    vertex(page, 0).click()
    page.clock.install()
    play = page.locator("#play")
    play.click()
    cells = [len(drawn_cells(page))]
    for _ in range(3):
        page.clock.run_for(900)
        cells.append(len(drawn_cells(page)))
    assert cells == [2, 3, 4, 4]
    assert play.inner_text() == "Play"
    play.click()
    page.clock.run_for(900)
    assert play.inner_text() == "Pause"
    play.click()
    page.clock.run_for(2700)
    assert (play.inner_text(), len(drawn_cells(page))) == ("Play", 3)
    play.click()  # it goes on from here
    page.clock.run_for(900)
    assert len(drawn_cells(page)) == 4


def test_graphs_can_be_switched_and_compared(page: "Page") -> None:
    assert "1-WL cannot tell it from graph 1, but they are not isomorphic." in page.locator("#facts").inner_text()
    page.locator("#graph-choice").select_option("graph 1")
    assert "72 symmetries" in page.locator("#facts").inner_text()
    vertex(page, 0).click()
    assert drawn_cells(page) == [{0}, {1, 2}, {3, 4, 5}]
    assert page.evaluate("location.hash") == "#graph=1&path=0"


def test_orbits_where_cells_are_not_orbits(browser: "Browser", tmp_path: Path) -> None:
    graph = shrikhande()
    _, colours, orbits = walk(graph, [0, 1])
    assert len(set(orbits.tolist())) > len(set(colours.tolist()))
    with opened(browser, page_of(tmp_path / "one.html", [graph]), "#path=0.1") as page:
        assert drawn_cells(page) == cells_of(colours.tolist())
        page.get_by_label("orbits").check()
        assert drawn_cells(page) == cells_of(orbits.tolist())
        assert "look alike and are not" in page.locator("#comparison").inner_text()
        page.get_by_role("button", name="root", exact=True).click()
        assert "truly alike" in page.locator("#comparison").inner_text()


def test_the_tree_can_be_walked_and_shows_alike_branches(page: "Page") -> None:
    rows = page.locator("#tree [role=treeitem]")
    assert [rows.nth(i).get_attribute("data-path") for i in range(rows.count())] == ["", "0", "0.2"]
    assert "stands for 6 alike branches" in rows.nth(1).locator(".row").first.inner_text()
    rows.nth(2).locator(".row").click()
    assert page.evaluate("location.hash") == "#graph=0&path=0.2"
    assert drawn_cells(page) == [{v} for v in range(6)]
    page.get_by_label("Show the alike branches too").check()
    below_root = page.locator("#tree > li > ul > li[role=treeitem]")
    assert below_root.count() == 6
    assert below_root.nth(4).locator(".row").first.inner_text().endswith("alike: vertex 0")


def test_everything_works_with_the_keyboard(page: "Page") -> None:
    page.locator("#graph-choice").focus()
    page.keyboard.press("Tab")  # Back is off at the root
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.vertex") == "0"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.vertex") == "1"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#graph=0&path=1"
    assert page.evaluate("document.activeElement.dataset.vertex") == "1"  # the focus stays
    page.keyboard.press("Backspace")
    assert drawn_cells(page) == [set(range(6))]
    page.locator("#tree [tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate("location.hash") == "#graph=0&path=0"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#tree [data-path='0']").get_attribute("aria-expanded") == "false"
    page.keyboard.press("ArrowRight")
    assert page.locator("#tree [data-path='0']").get_attribute("aria-expanded") == "true"


def test_the_focus_stays_where_it_was(page: "Page") -> None:
    vertex(page, 0).click()
    vertex(page, 1).click()
    page.locator("#back").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "back"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "root"  # at the root there is no way back
    vertex(page, 0).click()
    page.locator("#earlier").focus()
    for _ in range(2):
        page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "round"
    page.keyboard.press("ArrowRight")
    assert page.locator("#round-name").inner_text().startswith("Round 1 of 2")


@pytest.mark.parametrize(
    ("width", "address"),
    [(NARROW, "#graph=1&path=0.3&round=1"), (WIDE, ""), (WIDE, "#graph=8&path=77&round=x"), (900, "#path=0.0.0.0")],
)
def test_the_page_is_readable_at_every_width(browser: "Browser", pair: Path, width: int, address: str) -> None:
    with opened(browser, pair, address, width) as page:
        check_page(page)
        assert page.locator("#picture").bounding_box()["width"] > 0.35 * min(width, 800)  # type: ignore[index]


def test_a_path_may_go_on_below_a_leaf(browser: "Browser", pair: Path) -> None:
    with opened(browser, pair, "#graph=0&path=0.2.5") as page:
        assert page.locator("#tree [aria-selected=true]").get_attribute("data-path") == "0.2.5"
        assert drawn_cells(page) == [{v} for v in range(6)]


@pytest.mark.slow
def test_links_count_the_graphs_that_are_left_out(browser: "Browser", tmp_path: Path) -> None:
    graphs = zip((0, 3), hexagon_and_triangles(), strict=True)
    shown = [Shown(Sample(f"graph {i}", graph, number=i), search_here(graph)) for i, graph in graphs]
    write_page(tmp_path / "some.html", "A test.", shown)
    for address, name in (("#graph=3", "graph 3"), ("#graph=1", "graph 0")):
        with opened(browser, tmp_path / "some.html", address) as page:
            assert page.locator("#graph-choice option:checked").inner_text() == name


def test_particles_of_a_trained_model(browser: "Browser", tmp_path: Path) -> None:
    steps = [
        [Particle([0], 0.25), Particle([1], 0.75), Particle([4], 0.0)],
        [Particle([1, 3], 0.125), Particle([1, 0], 0.875), Particle([4, 4], 0.0)],  # the first one died
    ]
    graph = hexagon_and_triangles()[0]
    sample = Sample("ring", graph)
    shown = Shown(sample, search_here(graph), Walked(steps, "Prediction: y 1.5."))
    write_page(tmp_path / "run.html", "A test.", [shown], "runs/first")
    with opened(browser, tmp_path / "run.html", width=NARROW) as page:
        check_page(page)
        assert page.locator("#run").inner_text() == "runs/first: one draw of 3 particles. Prediction: y 1.5."
        assert page.locator("#particles li").all_inner_texts() == [
            "Particle 2: marks 1, then 0; weight 0.875",
            "Particle 1: marks 1, then 3; weight 0.125",
        ]
        assert page.locator("#more-particles").inner_text() == "1 particle of weight 0 is not shown."
        assert page.get_by_label("particles 1.000").get_attribute("data-vertex") == "1"
        assert page.locator("#picture .halo").count() == 1
        assert "particles 0.000, with alike branches 1.000" in page.locator("#tree [data-path='0'] > .row").inner_text()
        page.locator("#step").select_option("1")
        assert page.locator("#picture .halo").count() == 2
        page.locator("#step").select_option("2")
        page.get_by_role("button", name="Particle 1: marks 1, then 3").click()
        assert page.evaluate("location.hash") == "#graph=0&path=1.3"
        assert drawn_cells(page) == cells_of(walk(graph, [1, 3])[1].tolist())
        assert page.evaluate("document.activeElement.textContent").startswith("Particle 1")
    check_dark(browser, tmp_path / "run.html")
