"""The code blocks and commands of the README and the documentation."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples" / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.is_file()),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`(pfgnn [^`]*)`")


class Block(NamedTuple):
    """A block of code.

    Fields:
        page: The page, from the root of the repository.
        line: The line of its first code.
        language: What stands after the fence; empty for shell commands.
        code: The code.
    """

    page: str
    line: int
    language: str
    code: str


def name_of(page: Path) -> str:
    """The path of a page from the root of the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page."""
    text = page.read_text()
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        found.append(Block(name_of(page), line, match[1], match[2]))
    assert text.count("\n```") + text.startswith("```") == 2 * len(found), f"{page} has a fence that is not closed"
    return found


def commands(block: Block) -> list[str]:
    """The commands of a block of shell commands, with lines that end in a backslash joined."""
    return [line for line in block.code.replace("\\\n", " ").splitlines() if line.strip()]


def inline_commands(page: Path) -> list[str]:
    """The commands `pfgnn ...` in the text of a page."""
    text = FENCE.sub("", page.read_text())
    return [" ".join(command.split()) for command in SPAN.findall(text)]
