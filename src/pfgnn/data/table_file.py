"""Read a table of text with named columns. Every command reads tables with this one function."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pfgnn.errors import InputError, cut, shown
from pfgnn.files import ending, read_text
from pfgnn.graphs.smiles import smiles_lines

TABLES = (".csv", ".tsv")
SMILES = (".smi", ".smiles")
SEPARATORS = ",;\t|"  # the first one is taken if the header has none of them
LONGEST_LIST = 300  # characters of a list of columns in a message


class TableFile(NamedTuple):
    """The cells of a table, without blanks around them.

    Attributes:
        path: The file.
        header: Names of the columns.
        lines: Number of the line of each row, from 1.
        rows: The cells of each row. A row may have other numbers of cells than the header.
    """

    path: Path
    header: list[str]
    lines: list[int]
    rows: list[list[str]]

    def place(self, name: str) -> int:
        """The place of a column in the header. It must occur once."""
        if self.header.count(name) > 1:
            raise InputError(f"each column must occur once in {self.path}, but {shown(name)} is repeated")
        if name not in self.header:
            raise InputError(f"{self.path} has no column {shown(name)}, but has: {list_columns(self.header)}")
        return self.header.index(name)

    def check_row(self, row: Sequence[str]) -> None:
        """Raise an InputError unless a row has as many cells as the header."""
        if len(row) != len(self.header):
            raise InputError(f"there are {len(row)} entries, but the header has {len(self.header)}")

    def column(self, name: str) -> list[str]:
        """The cells of a column. Raises an InputError for the first row that has other numbers of cells."""
        place = self.place(name)
        for line, row in zip(self.lines, self.rows, strict=True):
            if len(row) != len(self.header):
                raise InputError(f"{self.path}, line {line}: there are {len(row)} entries, not {len(self.header)}")
        return [row[place] for row in self.rows]


def read_table_file(path: Path) -> TableFile:
    """Read a table: a CSV file with a header, or a file of SMILES (.smi) with the columns smiles and name.

    Both may be gzipped and begin with a byte order mark. The columns of a CSV file are separated by commas, semicolons,
    tabs or bars, whichever the header has most of. Cells may be quoted. Rows without any text are left out.
    """
    if ending(path) in SMILES:
        found = smiles_lines(path)
        return TableFile(path, ["smiles", "name"], [line for line, *_ in found], [cells for _, *cells in found])
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path} must have at least one line, but it is empty")
    separator = _separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        header = [name.strip() for name in next(reader)]
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from None
    for line, row in rows:  # rows that a missing quote has joined
        if any("\n" in cell and all(separator in part for part in cell.split("\n")[:-1]) for cell in row):
            raise InputError(f"{path}, line {line}: a cell must not hold whole rows, but one does; is a quote missing?")
    return TableFile(path, header, [line for line, _ in rows], [row for _, row in rows])


def list_columns(names: Sequence[str]) -> str:
    """The names of columns for a message, cut if there are many."""
    return cut(", ".join(names), LONGEST_LIST) or "none"


def _separator(text: str) -> str:
    """The separator that the first line has most of, outside of quotes."""
    header = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").split("\n", 1)[0])
    return max(SEPARATORS, key=header.count)
