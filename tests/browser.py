"""Pages in a real browser: Chromium, driven by Playwright. Where one of them is missing, the tests skip."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Texts that are hard to read: those whose contrast with what is behind them is below 4.5 (WCAG AA). Not in drawings.
PALE = """() => {
  const channels = (of) => of.match(/[\\d.]+/g).map(Number);
  const light = (of) => channels(of).slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (of) => {
    const colour = of ? getComputedStyle(of).backgroundColor : "rgb(255, 255, 255)";
    return (channels(colour)[3] ?? 1) ? colour : behind(of.parentElement);
  };
  const own = (of) => [...of.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  return [...document.body.querySelectorAll("*")].filter((of) => own(of) && !of.closest("svg, script, style"))
    .filter((of) => {
      const [a, b] = [light(getComputedStyle(of).color), light(behind(of))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05) < 4.5;
    }).map((of) => of.outerHTML.slice(0, 200));
}"""
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
WIDE, NARROW = 1200, 400


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A browser with a profile of its own."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no program chromium, such as Debian's package of this name installs")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@contextmanager
def opened(
    browser: "Browser", path: Path, address: str = "", width: int = WIDE, dark: bool = False
) -> "Iterator[Page]":
    """A page of a file, without a network. At the end, the test fails if the page said or asked for anything.

    Args:
        browser: The browser.
        path: The file.
        address: What follows the name of the file, such as "#graph=2".
        width: Width of the window.
        dark: Whether the reader's system is in dark mode.
    """
    scheme: Literal["dark", "light"] = "dark" if dark else "light"
    with browser.new_context(offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme) as context:
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on(
            "request", lambda request: said.extend([] if request.url.startswith(("file:", "data:")) else [request.url])
        )
        page.goto(path.resolve().as_uri() + address)
        yield page
        assert said == []


def check_page(page: "Page") -> None:
    """Assert what every page promises: no sideways scrolling, and a name for all that can be used or seen."""
    room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert room[0] <= room[1], f"the page is {room[0]} wide in a window of {room[1]}"
    assert page.title()
    assert page.locator("html").get_attribute("lang")
    assert page.evaluate("[...document.images].filter((image) => !image.alt).map((image) => image.src)") == []
    kinds = "button|link|combobox|slider|checkbox|radio|textbox|treeitem"
    snapshot = page.locator("body").aria_snapshot()
    assert re.findall(rf'^ *- (?:{kinds})(?! ").*$', snapshot, re.MULTILINE) == []


def check_dark(browser: "Browser", path: Path, width: int = WIDE) -> None:
    """Assert that a page is dark in dark mode, and that all its texts can be read in both modes."""
    for dark in (False, True):
        with opened(browser, path, width=width, dark=dark) as page:
            assert page.evaluate(PALE) == []
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (max(map(int, re.findall(r"\d+", background)[:3])) < 60) is dark
