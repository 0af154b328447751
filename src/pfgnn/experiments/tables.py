"""All tables by name, and the files of their records."""

from collections.abc import Sequence
from pathlib import Path

from pfgnn.argument_checks import choose
from pfgnn.experiments.our_tables import OUR_TABLES
from pfgnn.experiments.paper_tables import PAPER_TABLES
from pfgnn.experiments.rows import Row, TableSpec

TABLES: dict[str, TableSpec] = {**PAPER_TABLES, **OUR_TABLES}
ALL = "all"  # stands for all tables


def find_table(name: str) -> TableSpec:
    """The table with this name. If there is none, the InputError lists all names."""
    return choose("name", name, TABLES)


def choose_tables(names: Sequence[str]) -> list[str]:
    """The names of some tables, each once, in the order given. "all" stands for all tables.

    Args:
        names: Names of tables. An unknown one raises an InputError that lists all names.
    """
    found = [table for name in names for table in (TABLES if name == ALL else (name,))]
    for name in found:
        choose("name", name, {**TABLES, ALL: None})
    return list(dict.fromkeys(found))


def row_path(results: Path, table: str, row: Row) -> Path:
    """The file with the records of a row.

    Args:
        results: Folder of the records.
        table: Name of the table.
        row: Row of the table.
    """
    return results / f"{row.shared or f'{table}/{row.name}'}.json"
