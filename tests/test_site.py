"""The documentation site: it is built without a warning, has every public name, and can be read in a browser."""

import importlib
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.browser import NARROW, WIDE, browser, check_page, opened

import pfgnn
from pfgnn import errors, testing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGES = ("graphs", "ops", "data", "model", "training", "estimators")  # with public names


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


def build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` does."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(folder)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=settings)


def documented(site: Path) -> set[str]:
    """The names in the API reference, by the inventory that mkdocstrings writes."""
    _, _, _, _, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    return {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}


def missing(names: set[str], wanted: dict[str, list[str]]) -> set[str]:
    """The public names of each module that are not in the reference.

    A function may have the name of its module, as pfgnn.data.load. Then it is found in that module.
    """
    return {
        f"{module}.{name}"
        for module, public in wanted.items()
        for name in public
        if f"{module}.{name}" not in names and f"{module}.{name}.{name}" not in names
    }


def public_names() -> dict[str, list[str]]:
    wanted = {f"pfgnn.{name}": list(importlib.import_module(f"pfgnn.{name}").__all__) for name in PACKAGES}
    wanted["pfgnn.errors"] = [name for name in vars(errors) if name.endswith("Error")]
    wanted["pfgnn.testing"] = [name for name in vars(testing) if name.startswith("assert_")]
    return wanted


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    names, wanted = documented(site), public_names()
    assert missing(names, wanted) == set()
    assert missing(names - {"pfgnn.graphs.refine"}, wanted) == {"pfgnn.graphs.refine"}  # a missing name is found
    homes = [name for public in wanted.values() for name in public]
    assert {name for name in pfgnn.__all__ if name not in homes and f"pfgnn.{name}" not in names} == set()


def test_all_packages_with_public_names_are_compared() -> None:
    inits = (ROOT / "src/pfgnn").glob("*/__init__.py")
    packages = {path.parent.name for path in inits if "__all__" in path.read_text()}
    assert packages == {*PACKAGES, "cli"}  # the command line has one name, which its script calls


def test_every_page_is_in_the_navigation_once() -> None:
    text = yaml.dump(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    listed = re.findall(r"[\w/-]+\.md", text)
    assert len(listed) == len(set(listed))
    assert {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} <= set(listed)


def test_lists_do_not_end_within_a_paragraph(site: Path) -> None:
    """Markdown on the site needs four blanks before a paragraph of a list; with two, the rest is no list."""
    for page in site.glob("*.html"):
        assert not re.search(r"^[-*] ", page.read_text().partition("<article")[2], re.MULTILINE), page.name


def test_a_number_and_its_unit_stay_on_one_line(site: Path) -> None:
    text = (site / "speed.html").read_text().partition("<article")[2]
    assert re.search(r"\d\N{NO-BREAK SPACE}ms", text)
    assert not re.search(r"\d ms\b", text)


def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install '.[docs]'")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Page\n\n[there](missing.md) and [here](#nowhere)\n")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    kept = {key: config[key] for key in ("site_name", "strict", "validation")}
    (tmp_path / "mkdocs.yml").write_text(yaml.dump(kept))
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0
    assert "missing.md" in done.stderr
    assert "#nowhere" in done.stderr


def test_links_out_of_docs_lead_to_pages_of_the_site(site: Path) -> None:
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            if re.match(r"https?:|data:|mailto:", target):
                continue
            assert target.startswith("/") or (page.parent / target).exists(), f"{page.name} links to {target}"
    assert "refine" in (site / "files/src/pfgnn/model/refine.py.html").read_text()
    assert (site / "files/results/demo/walk.png").read_bytes() == (ROOT / "results/demo/walk.png").read_bytes()


@pytest.mark.parametrize(
    ("name", "width"),
    [("index.html", NARROW), ("index.html", WIDE), ("guide.html", NARROW), ("api/graphs.html", NARROW)],
)
def test_pages_can_be_read(browser: "Browser", site: Path, name: str, width: int) -> None:
    with opened(browser, site / name, width=width) as page:
        check_page(page)
        assert page.locator("h1").count() == 1
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent.trim()") == "Skip to content"
