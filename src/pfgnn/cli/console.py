"""The consoles that the commands print to, one for their output, one for errors, and what their streams can take."""

import codecs
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for another program.")]

# A name such as :x: stays as it is. Of the processes that torchrun starts, the first one speaks for all.
console = Console(emoji=False, quiet=os.environ.get("RANK", "0") != "0")
errors = Console(stderr=True, soft_wrap=True, emoji=False)


FOUND = {
    "SMILES column": "SMILES column",
    "target column": "Target",  # there may be several columns
    "decimal commas": "Decimal commas",
    "labels": "Labels",
    "classes": "Classes",
    "unknown labels": "Unknown labels",
    "parts": "Parts",
}
CLOSED_PIPE = 141  # exit status: 128 and the number of SIGPIPE, as shells give it
PLAIN = {"→": "->", "…": "...", "±": "+/-", "≤": "<=", "≥": ">=", "×": "x", "²": "^2", "–": "-", "—": "-"}


def print_every_character(stream: TextIO) -> None:
    """Let a stream replace what its encoding lacks by a plain form, or by "?". Without this, printing would fail.

    Args:
        stream: Such as ``sys.stdout``.
    """
    codecs.register_error("pfgnn.plain", _plain)
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="pfgnn.plain")


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """What stands for the first character that cannot be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if "\udc80" <= character <= "\udcff":  # a byte of a file's name that is no text in the encoding of names
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return PLAIN.get(character, "?"), error.start + 1


@contextmanager
def quiet_at_closed_pipe() -> Iterator[None]:
    """If the reader of stdout went away, such as `head`, end without a word, with status 141."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None and not sys.stdout.closed:
                sys.stdout.flush()  # here, because Python would complain about it at its end
    except (BrokenPipeError, SystemExit) as error:
        # rich and click turn the error into an exit with status 1.
        if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(CLOSED_PIPE) from None


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


def say(text: str) -> None:
    """Print a text as it is: no colours, no markup, and no line is broken to fit the terminal."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def say_found(about: Mapping[str, str]) -> None:
    """Print what was found in a file of graphs: its columns, its targets and its parts.

    Args:
        about: The facts of a dataset, see :attr:`pfgnn.data.dataset.Dataset.about`.
    """
    for key, label in FOUND.items():
        if what := about.get(key):
            say(f"{label}: {what}.")


def print_json(content: object) -> None:
    """Print JSON for another program: nothing else is on stdout, and no line is broken to fit the terminal.

    Args:
        content: Values that JSON can store.
    """
    text = json.dumps(content, indent=2, ensure_ascii=False)
    try:
        text.encode(console.encoding)
    except UnicodeEncodeError:  # JSON has a form in ASCII for every character
        text = json.dumps(content, indent=2)
    console.print(text, markup=False, highlight=False, soft_wrap=True)
