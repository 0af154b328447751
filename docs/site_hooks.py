"""Hooks of mkdocs: links that leave docs/ work on the site as they do in the repository.

README.md becomes the first page. What the pages link to outside of docs/, such as source files, records and pictures,
becomes pages and files of the site. A number and its unit stay on one line.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = {  # pages that lie outside of docs/
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
}
ADDED = "files"  # folder of the site for what lies outside of docs/
PICTURES = (".png", ".svg", ".jpg")
LANGUAGES = {".py": "python", ".json": "json", ".yaml": "yaml", ".sh": "bash"}
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
UNIT = re.compile(r"(?<=\d) (?=(?:ms|µs|s|%|×|MiB|GB|±)(?!\w))|(?<=±) (?=\d)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files that lie outside of docs/."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    wanted = {
        path for file in files.documentation_pages() for path in _linked(file) if _site_path(path).parts[0] == ADDED
    }
    for path in sorted(wanted):
        files.append(_added(config, path))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point the links of a page to pages of the site."""
    if page.file.src_uri.startswith(f"{ADDED}/"):
        return markdown
    home = _home(page.file)

    def point(match: re.Match[str]) -> str:
        path = _target(match[1], home)
        if path is None:
            return match[0]
        there = os.path.relpath(_site_path(path), PurePosixPath(page.file.src_uri).parent)
        return f"]({there}{match[2] or ''})"

    return _outside_code(markdown, lambda text: UNIT.sub("\N{NO-BREAK SPACE}", LINK.sub(point, text)))


def _linked(file: File) -> Iterator[PurePosixPath]:
    """The files and folders of the repository that a page links to."""
    home = _home(file)
    for target, _ in LINK.findall(CODE.sub("", file.content_string)):
        if (path := _target(target, home)) is not None:
            yield path


def _home(file: File) -> PurePosixPath:
    """The folder of the repository that the links of a page start from."""
    paths = {page: path for path, page in PAGES.items()}
    return PurePosixPath(paths.get(file.src_uri, f"docs/{file.src_uri}")).parent


def _target(target: str, home: PurePosixPath) -> PurePosixPath | None:
    """The path from the root of the repository to what a link points to; None if there is no such file."""
    path = PurePosixPath(os.path.normpath(home / target))
    return path if "://" not in target and (ROOT / path).exists() else None


def _site_path(path: PurePosixPath) -> PurePosixPath:
    """Where a file or folder of the repository is on the site, as mkdocs names its sources."""
    if str(path) in PAGES:
        return PurePosixPath(PAGES[str(path)])
    if path.parts[0] == "docs":
        return PurePosixPath(*path.parts[1:])
    if (ROOT / path).is_dir():
        return PurePosixPath(ADDED, path, "index.md")
    return PurePosixPath(ADDED, path if path.suffix in PICTURES else f"{path}.md")


def _added(config: MkDocsConfig, path: PurePosixPath) -> File:
    """A page that shows a file or lists a folder, or a picture."""
    source, place = ROOT / path, str(_site_path(path))
    if path.suffix in PICTURES:
        return File.generated(config, place, content=source.read_bytes())
    if source.is_dir():
        names = sorted(f"- `{one.name}{'/' * one.is_dir()}`" for one in source.iterdir() if one.name != "__pycache__")
        text = "\n".join(["These files are in the repository:", "", *names])
    else:
        text = f"```{LANGUAGES.get(path.suffix, 'text')}\n{source.read_text('utf-8')}\n```"
    # The search of the site is for the documentation, not for source code.
    return File.generated(config, place, content=f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n{text}\n")


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Change a text everywhere except in its code."""
    return "".join(part if number % 2 else change(part) for number, part in enumerate(CODE.split(markdown)))
