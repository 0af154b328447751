"""The consoles that the commands print to: one for their output, one for errors."""

import json
import os
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for another program.")]

# A name such as :x: stays as it is. Of the processes that torchrun starts, the first one speaks for all.
console = Console(emoji=False, quiet=os.environ.get("RANK", "0") != "0")
errors = Console(stderr=True, soft_wrap=True, emoji=False)


def make_table(*columns: str, title: str | None = None, caption: str | None = None) -> Table:
    """A table that never cuts a cell: what is too wide for the terminal goes on in the next line.

    Args:
        columns: Titles of the columns.
        title: Text above the table, with rich's markup.
        caption: Text below it.
    """
    table = Table(title=title, caption=caption)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def counted(number: int, what: str) -> str:
    """A number with its noun in the singular or plural, such as "1 graph" or "2 graphs"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def print_json(content: object) -> None:
    """Print JSON for another program: nothing else is on stdout, and no line is broken to fit the terminal.

    Args:
        content: Values that JSON can store.
    """
    console.print(json.dumps(content, indent=2, ensure_ascii=False), markup=False, highlight=False, soft_wrap=True)
