"""The numbers that others published, read from published.yaml. None is our own."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pfgnn.errors import InputError, shown
from pfgnn.experiments.yaml_text import load_yaml

FILE = Path(__file__).with_name("published.yaml")
PAPER = "PF-GNN paper"  # the work that pfgnn implements
KEYS = {"work", "place", "quoted", "columns", "rows"}
GRID_KEYS = {"work", "place", "grid", "particles", "rows"}
COPY_KEYS = {"copied", "columns", "rows"}
GRID_COLUMN = "accuracy"


@dataclass(frozen=True)
class PublishedRow:
    """The numbers of one model.

    Args:
        title: The model, after the dataset if the table has several.
        cells: The number in each column, as printed.
        source: Whose number it is; empty for the own runs of the PF-GNN paper's authors.
        work: The work that prints it, a key of :data:`WORKS`.
        place: Where in this work.
    """

    title: str
    cells: dict[str, str]
    source: str = ""
    work: str = PAPER
    place: str = ""


def read_published(text: str, source: str) -> tuple[dict[str, str], dict[str, tuple[PublishedRow, ...]]]:
    """Read the works, and the rows of each table.

    Args:
        text: YAML, see the comment at the top of published.yaml.
        source: Where the text comes from, for messages.
    """
    content = load_yaml(text, source)
    if not isinstance(content, dict) or content.keys() != {"works", "tables"}:
        raise InputError(f"{source} must have the keys works and tables, and no other")
    works, tables = content["works"], content["tables"]
    if not isinstance(works, dict) or not all(isinstance(said, str) for said in works.values()):
        raise InputError(f"{source}: works must give each work a text")
    if not isinstance(tables, dict) or not all(isinstance(groups, list) for groups in tables.values()):
        raise InputError(f"{source}: tables must give each table a list of groups")
    found: dict[str, tuple[PublishedRow, ...]] = {}
    for name, groups in tables.items():
        rows = [
            row
            for number, group in enumerate(groups, start=1)
            for row in _rows(group, works, found, f"{source}, {name}, group {number}")
        ]
        titles = [row.title for row in rows]
        if len(set(titles)) < len(titles):
            twice = next(title for title in titles if titles.count(title) > 1)
            raise InputError(f"{source}, {name} must have each row once, but it has {shown(twice)} twice")
        found[name] = tuple(rows)
    return works, found


def _rows(
    group: Any, works: dict[str, str], earlier: dict[str, tuple[PublishedRow, ...]], place: str
) -> Iterator[PublishedRow]:
    """The rows of a group, checked."""
    given = group.keys() if isinstance(group, dict) else set()
    allowed = GRID_KEYS if "grid" in given else COPY_KEYS if "copied" in given else KEYS
    if not allowed - {"quoted"} <= given <= allowed:
        raise InputError(f"{place} must have the keys {', '.join(sorted(allowed))}; only quoted may be left out")
    if allowed is COPY_KEYS:
        yield from _copies(group, earlier, place)
        return
    if group["work"] not in works:
        raise InputError(f"{place}: work must be one of {', '.join(works)}, but it is {shown(group['work'])}")
    of_grid = allowed is GRID_KEYS
    header = group["particles"] if of_grid else group["columns"]
    if not isinstance(header, list) or not isinstance(group["rows"], dict):
        raise InputError(f"{place}: {'particles' if of_grid else 'columns'} must be a list, and rows must have titles")
    source = group.get("quoted", "" if group["work"] == PAPER else group["work"])
    about = {"source": source, "work": group["work"], "place": group["place"]}
    for title, line in group["rows"].items():
        cells = _cells(line, len(header), f"{place}, row {title}")
        if of_grid:
            for K, cell in zip(header, cells, strict=True):
                yield PublishedRow(f"{group['grid']}, T={title}, K={K}", {GRID_COLUMN: cell}, **about)
        else:
            printed = {name: cell for name, cell in zip(header, cells, strict=True) if cell != "-"}
            yield PublishedRow(title, printed, **about)


def _copies(group: Any, earlier: dict[str, tuple[PublishedRow, ...]], place: str) -> Iterator[PublishedRow]:
    """Rows of an earlier table under other titles."""
    if not isinstance(group["rows"], dict) or not isinstance(group["columns"], dict):
        raise InputError(f"{place}: rows and columns must say which ones of {shown(group['copied'])} they copy")
    known = {row.title: row for row in earlier.get(group["copied"], ())}
    for title, other in group["rows"].items():
        if other not in known or not set(group["columns"].values()) <= known[other].cells.keys():
            raise InputError(
                f"{place} must copy rows and columns of an earlier table, but {shown(group['copied'])} has no row "
                f"{shown(other)} with them"
            )
        cells = {column: known[other].cells[there] for column, there in group["columns"].items()}
        yield replace(known[other], title=title, cells=cells)


def _cells(line: object, number: int, place: str) -> list[str]:
    """The numbers of a line, as printed."""
    if not isinstance(line, str):  # YAML would read 1.50 as 1.5
        raise InputError(f'{place} must be text, such as "1.50" in quotes, but it is {shown(line)}')
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != number:
        raise InputError(f'{place} must have {number} numbers, separated by "|", but it has {len(cells)}')
    for cell in cells:
        value, _, std = cell.removesuffix("s").partition(" ± ")  # a time has its unit, seconds
        if cell != "-" and not (_is_number(value) and (not std or _is_number(std))):
            raise InputError(f'{place} must have numbers, such as "1.5" or "1.5 ± 0.2", but it has {shown(cell)}')
    return cells


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdecimal()


WORKS, PUBLISHED = read_published(FILE.read_text(encoding="utf-8"), FILE.name)
