"""All tables by name, and where their records lie."""

from pathlib import Path

from pfgnn.arguments import choose
from pfgnn.experiments.our_tables import OUR_TABLES
from pfgnn.experiments.paper_tables import PAPER_TABLES
from pfgnn.experiments.rows import Row, TableSpec

TABLES: dict[str, TableSpec] = {**PAPER_TABLES, **OUR_TABLES}


def find_table(name: str) -> TableSpec:
    """The table of a name, or a sentence with the names there are."""
    return choose("name", name, TABLES)


def row_path(results: Path, table: str, row: Row) -> Path:
    """Where the records of a table's row lie."""
    return results / (row.shared or table) / f"{row.name}.json"
