"""Parts that a column of a table names: train, validation and test."""

from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from pfgnn.data.table_file import open_table
from pfgnn.errors import InputError, shown
from pfgnn.graphs.arrays import IntArray

PARTS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "test": "test",
}


def names_parts(cells: Iterable[str]) -> bool:
    """Whether the cells of a column name parts, train and test among them."""
    found = {PARTS.get(cell.casefold(), "") for cell in cells if cell}
    return {"train", "test"} <= found <= set(PARTS.values())


def read_split_column(path: Path, column: str, rejected: Collection[int] = ()) -> dict[str, IntArray]:
    """The graphs of each part that a column names. A row with an empty cell is in no part.

    Args:
        path: The table, see :func:`pfgnn.data.table_file.open_table`.
        column: Name of the column.
        rejected: Numbers of the lines that are no graphs, because they could not be read.

    Returns:
        Numbers of the graphs of train, validation and test, from 0, as far as there are any.
    """
    table = open_table(path)
    place = table.place(column, "--split-column")
    skipped = set(rejected)
    members: dict[str, list[int]] = {name: [] for name in ("train", "validation", "test")}
    rows = ((line, row) for line, row in table.read() if line not in skipped)
    for number, (line, row) in enumerate(rows):
        cell = row[place] if place < len(row) else ""
        if not cell:
            continue
        if cell.casefold() not in PARTS:
            raise InputError(
                f"{path.name}, line {line}: column {shown(column)} must be train, validation, test or empty, "
                f"but it is {shown(cell)}"
            )
        members[PARTS[cell.casefold()]].append(number)
    if not any(members.values()):
        raise InputError(f"column {shown(column)} of {path} must name the parts of graphs, but all its cells are empty")
    return {name: np.array(numbers, dtype=np.int64) for name, numbers in members.items() if numbers}
