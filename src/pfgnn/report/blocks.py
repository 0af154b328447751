"""Parts of the page of results, which is written as Markdown and as HTML."""

from typing import NamedTuple


class Table(NamedTuple):
    """A table of texts.

    Fields:
        caption: What it shows.
        header: Titles of the columns.
        rows: The cells. They may have Markdown's `code` and **bold**.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Section(NamedTuple):
    """A section of the page.

    Fields:
        name: Its name, for links.
        title: Its title.
        text: Paragraphs above the tables, in Markdown with `code`, **bold** and [links](FILE).
        tables: The tables.
        commands: How to make it again; a paragraph below the tables.
    """

    name: str
    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    commands: str = ""
