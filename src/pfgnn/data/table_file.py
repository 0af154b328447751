"""Read a table of text with named columns. Every command reads tables with this one module."""

import csv
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from pfgnn.errors import InputError, cut, nearest, shown
from pfgnn.files import ending, text_lines
from pfgnn.graphs.smiles import smiles_lines

TABLES = (".csv", ".tsv")
SMILES = (".smi", ".smiles")
SEPARATORS = ",;\t|"  # the first one is taken if the header has none of them
LONGEST_LIST = 300  # characters of a list of columns in a message


@dataclass(frozen=True)
class Table:
    """A table of text that is read row by row. Each reading begins at the first row.

    Args:
        path: The file.
        header: Names of the columns.
    """

    path: Path
    header: list[str]

    def read(self) -> Iterator[tuple[int, list[str]]]:
        """The number of the line of each row, from 1, and its cells, without blanks around them.

        A row may have other numbers of cells than the header. Rows without any text are left out.
        """
        return islice(_read(self.path), 0 if ending(self.path) in SMILES else 1, None)

    def place(self, name: str, option: str = "--smiles-column") -> int:
        """The place of a column in the header. It must occur once.

        Args:
            name: Name of the column.
            option: The option with which the user names it, for the message.
        """
        if self.header.count(name) > 1:
            raise InputError(f"each column must occur once in {self.path}, but {shown(name)} is repeated")
        if name not in self.header:
            near = nearest(name, self.header)
            hint = f"did you mean {option} {shlex.quote(near)}?" if near else f"name a column with {option}"
            raise InputError(f"{self.path} has no column {shown(name)}, but has: {list_columns(self.header)}; {hint}")
        return self.header.index(name)

    def check_row(self, row: Sequence[str]) -> None:
        """Raise an InputError unless a row has as many cells as the header."""
        if len(row) != len(self.header):
            raise InputError(f"there are {len(row)} entries, but the header has {len(self.header)}")


def open_table(path: Path) -> Table:
    """Read the header of a table: a CSV file, or a file of SMILES (.smi), which has the columns smiles and name.

    Both may be gzipped and begin with a byte order mark. The columns of a CSV file are separated by commas, semicolons,
    tabs or bars, whichever the header has most of. Cells may be quoted.
    """
    if ending(path) in SMILES:
        return Table(path, ["smiles", "name"])
    for _, header in _read(path):
        return Table(path, header)
    raise InputError(f"{path} must have at least one line, but it is empty")


def list_columns(names: Sequence[str]) -> str:
    """The names of columns for a message, cut if there are many."""
    return cut(", ".join(names), LONGEST_LIST) or "none"


def _read(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number of the line and the cells of each row. The first row of a CSV file is its header."""
    if ending(path) in SMILES:
        yield from ((line, cells) for line, *cells in smiles_lines(path))
        return
    lines = text_lines(path)
    above, first = next(((number, line) for number, line in enumerate(lines) if line.strip()), (0, ""))
    separator = _separator(first)
    reader = csv.reader(chain([first], lines), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            line = above + reader.line_num
            # A missing quote joins rows.
            if any("\n" in cell and all(separator in part for part in cell.split("\n")[:-1]) for cell in row):
                raise InputError(
                    f"{path}, line {line}: a cell must not hold whole rows, but one does; is a quote missing?"
                )
            if any(map(str.strip, row)):
                yield line, [cell.strip() for cell in row]
    except csv.Error as error:
        said = "a quote is opened in this row or above, but not closed" if "end of data" in str(error) else error
        raise InputError(f"{path}, line {above + reader.line_num}: {said}") from None


def _separator(line: str) -> str:
    """The separator that a line has most of, outside of quotes."""
    return max(SEPARATORS, key=re.sub(r'"[^"]*"', "", line).count)
