"""The page of results as Markdown, docs/results.md, and the table of the README. Both are generated from records."""

import re
import textwrap
from pathlib import Path

from pfgnn.errors import InputError
from pfgnn.files import read_text
from pfgnn.report.blocks import Section, Table
from pfgnn.report.headline import headline, lead
from pfgnn.report.result_sections import HOW_TO_READ, overview, result_sections, sources
from pfgnn.report.run_facts import NONE
from pfgnn.report.tables import NOT_RUN

PAGE, README = Path("docs/results.md"), Path("README.md")
COMMAND = "pfgnn report --write"
NUMBER = re.compile(rf"(\*\*)?(< |[-−])?\d|{NONE}|{NOT_RUN}|not reported|$")  # how a cell begins in a column of numbers
BEGIN, END = f"<!-- begin: `{COMMAND}` writes this table -->", "<!-- end -->"
MADE = (
    f"`{COMMAND}` makes this page, and the table of the README, from records. Every number of ours is in a record "
    "under [`results/`](../results/). Published numbers stand in columns of their own, as they were printed."
)
SPEED = (
    "How fast training and prediction are is in [docs/speed.md](speed.md), with its records in "
    "[`results/bench`](../results/bench)."
)


def generated_files(results: Path, root: Path) -> dict[Path, str]:
    """The text of each generated file of a checkout, by its path.

    Args:
        results: Folder of the records.
        root: Folder of the checkout, with docs/ and README.md.
    """
    readme = root / README
    if not readme.is_file() or not (root / PAGE).parent.is_dir():
        raise InputError(f"{root} must be a checkout of pfgnn, with {README} and {PAGE.parent}/, but it is not")
    return {
        root / PAGE: results_page(results, (root / PAGE).parent),
        readme: _put(read_text(readme), markdown_table(headline(results)), readme),
    }


def results_page(results: Path, folder: Path) -> str:
    """The page of results as Markdown.

    Args:
        results: Folder of the records.
        folder: Folder of the page, for links.
    """
    parts = [
        f"<!-- `{COMMAND}` writes this page. Do not change it by hand. -->",
        "# Results",
        _wrapped(lead(results)),
        _wrapped(MADE),
        markdown_table(headline(results)),
        _wrapped(HOW_TO_READ),
        _wrapped(SPEED),
        "## All tables",
        markdown_table(overview(results)),
    ]
    for section in (*result_sections(results, folder), sources()):
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """A table as Markdown. Columns of numbers stand on the right."""
    right = [all(NUMBER.match(row[place]) for row in table.rows) for place in range(len(table.header))]
    lines = [table.header, tuple("---:" if of else "---" for of in right), *table.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _section(section: Section) -> list[str]:
    # The heading is the name alone, so that links to it work on GitHub and on the site.
    parts = [f"## {section.name}", f"**{section.title}**", *map(_wrapped, section.text)]
    for table in section.tables:
        parts += [f"{table.caption}:"] if table.caption else []
        parts.append(markdown_table(table))
    return [*parts, _wrapped(section.commands)] if section.commands else parts


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _put(text: str, table: str, path: Path) -> str:
    """A text with a new table between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{path} must have the lines {BEGIN} and {END}, between which the table is written")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"
