"""The checks of pages find what they are for."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import NARROW, browser, check_page, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

pytestmark = pytest.mark.slow

PAGE = '<!doctype html><html lang="en"><title>A page</title><body><h1>A page</h1>{}</body></html>'


def check(browser: "Browser", folder: Path, content: str) -> None:
    (folder / "page.html").write_text(PAGE.format(content))
    with opened(browser, folder / "page.html", width=NARROW) as page:
        check_page(page)


def test_a_good_page_passes(browser: "Browser", tmp_path: Path) -> None:
    check(browser, tmp_path, "<button>Go</button>")


@pytest.mark.parametrize(
    "content",
    [
        "<script>console.log('noise')</script>",
        "<script>nothing.here()</script>",
        "<script src='https://example.org/a.js'></script>",
        "<div style='width: 500px'>wide</div>",
        "<button><svg width='9' height='9'></svg></button>",
        "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>",
        "<input type='range'>",
    ],
)
def test_a_bad_page_fails(browser: "Browser", tmp_path: Path, content: str) -> None:
    with pytest.raises(AssertionError):
        check(browser, tmp_path, content)
