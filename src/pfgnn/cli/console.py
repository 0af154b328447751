"""The consoles that the commands print to: one for their output, one for errors."""

import os

from rich.console import Console
from rich.table import Table

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
