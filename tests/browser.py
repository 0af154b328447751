"""Pages in a real browser: Chromium, driven by Playwright. Where one of them is missing, the tests skip."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
def opened(browser: "Browser", path: Path, address: str = "", width: int = WIDE) -> "Iterator[Page]":
    """A page of a file, without a network. At the end, the test fails if the page said or asked for anything.

    Args:
        browser: The browser.
        path: The file.
        address: What follows the name of the file, such as "#graph=2".
        width: Width of the window.
    """
    with browser.new_context(offline=True, viewport={"width": width, "height": 900}) as context:
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
