"""Find the column of SMILES in a table."""

import re
from itertools import islice

from pfgnn.data.table_file import Table
from pfgnn.errors import InputError, MissingPackageError, shown
from pfgnn.graphs.smiles import parse_smiles

NAMED = re.compile(r"(?i)(.*[\W_])?smiles([\W_].*)?|smi|mol|molecule|structure|drug")
ROWS = 50  # rows that are looked at
SHARE = 0.9  # of the cells must be molecules, and some must be longer than one character


def choose_smiles(table: Table, name: str | None) -> str:
    """The name of the column of SMILES in a table, for every command that reads one.

    Args:
        table: The table.
        name: The column that the user names; None to find it.
    """
    chosen = _find_smiles(table) if name is None else name
    table.place(chosen)  # raises if it is not there
    if name is None and not NAMED.fullmatch(chosen) and _are_molecules([chosen]):
        raise InputError(
            f"{table.path} must begin with a line of column names, but it begins with the molecule {shown(chosen)}; "
            "add a line such as smiles,target, or give the column with --smiles-column if this is its name"
        )
    return chosen


def _find_smiles(table: Table) -> str:
    """The name of the column of SMILES: "smiles" in any case, or the first that is named like one, or looks like one.

    A column looks like SMILES if RDKit reads nine in ten of its first cells. If there is none, the answer is "smiles",
    for which :meth:`Table.place` says that it is not there.
    """
    for name in table.header:
        if name.casefold() == "smiles":
            return name
    rows = [row for _, row in islice(table.read(), ROWS) if len(row) == len(table.header)]
    order = sorted(range(len(table.header)), key=lambda place: not NAMED.fullmatch(table.header[place]))
    for place in order:
        try:
            if _are_molecules([row[place] for row in rows]):
                return table.header[place]
        except MissingPackageError:
            if NAMED.fullmatch(table.header[place]):
                return table.header[place]
    return "smiles"


def _are_molecules(cells: list[str]) -> bool:
    """Whether nearly all cells are SMILES. A column of letters such as C and N is none."""
    read = 0
    for cell in cells:
        try:
            read += bool(cell) and parse_smiles(cell).GetNumAtoms() > 0
        except ValueError:
            continue
    return bool(cells) and read >= SHARE * len(cells) and any(len(cell) > 1 for cell in cells)
