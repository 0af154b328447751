"""What the labels of a file mean: which column is the target, and which cells are classes."""

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pfgnn.data.table_file import Table, list_columns
from pfgnn.errors import InputError, shown

UNKNOWN = ("", "nan", "na", "n/a", "#n/a", "<na>", "null")  # cells without a label, in lower case
NO_NUMBER = "none"  # among numbers also unknown; among texts it is a class
# Names of columns that number or name the rows, such as "id", "mol_id", "CompoundID" or "Unnamed: 0".
IDENTIFIER = re.compile(
    r"(?i:(.*[\W_])?(id|idx|ids|index|key|no|nr|row|name|names|cas|cid|inchi|inchikey)|unnamed: \d+)?|.*[a-z](ID|Id)"
)
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")  # 1,234 may be 1.234 or 1234
MOST_CLASSES = 2**16  # more different labels are no classes, and are not kept in memory
FEW_ROWS = 5  # with fewer rows, the values say nothing about the meaning of a column


class Labels:
    """How the cells of the target columns become numbers.

    A cell is a number, or unknown. But if there is one column and none of its cells is a number, its texts are classes.
    Numbers may have decimal commas, if all of them do and it is certain what the commas mean.

    Attributes:
        classes: Texts of the classes, in the order of their numbers; empty if the cells are numbers.
        comma: A number with a decimal comma, such as "0,5"; "" if there is none.

    Args:
        names: What the columns are called in messages.
        rows: The cells of all rows. They are read once, one after another.
        file: Where they are from, for messages.
        classes: Whether the texts are classes even if some of them are numbers.
    """

    def __init__(self, names: Sequence[str], rows: Iterable[Sequence[str]], file: Path, classes: bool = False) -> None:
        self.names, self.file = names, file
        texts: set[str] = set()  # what can be a class; with one more than allowed it is complete
        commas, points = Smallest(), Smallest()
        single, numbers, certain = True, False, False
        for row in rows:
            known = [cell for cell in row if not _is_unknown(cell)]
            single = single and len(known) < 2
            for cell in known:
                is_number = _is_number(cell)
                numbers = numbers or is_number
                if (classes or not is_number) and len(texts) <= MOST_CLASSES:
                    texts.add(cell)
                if DECIMAL_COMMA.fullmatch(cell):
                    commas.add(cell)
                    certain = certain or not THOUSANDS.fullmatch(cell)
                elif is_number and "." in cell:
                    points.add(cell)
        others = any(not _is_number(text) for text in texts)
        decimal = not classes and all(
            DECIMAL_COMMA.fullmatch(text) or _is_number(text) or text.lower() == NO_NUMBER for text in texts
        )
        self.comma = commas.text if decimal else ""
        if self.comma and points.text:
            both = f"{shown(self.comma)} and {shown(points.text)}"
            raise InputError(f"{file}: numbers must all have decimal points, or all have commas, but there are {both}")
        if self.comma and not certain:
            comma = f"{shown(self.comma)} may be {self.comma.replace(',', '.')} or {self.comma.replace(',', '')}"
            raise InputError(f"{file}: numbers must have decimal points where commas are not clear, but {comma}")
        as_text = single and others and (classes or not numbers) and not self.comma
        if as_text and len(texts) > MOST_CLASSES:
            raise InputError(f"{file}: there must be at most {MOST_CLASSES} classes, but there are more texts")
        self.classes = tuple(sorted(texts)) if as_text else ()
        self.number = {text: float(number) for number, text in enumerate(self.classes)}

    def read(self, cells: Sequence[str]) -> list[float]:
        """The label of each cell: a number or the number of a class, NaN if it is unknown."""
        if self.classes:
            return [math.nan if _is_unknown(cell) else self.number[cell] for cell in cells]
        if len(cells) != len(self.names):
            first = f"{len(self.names)} in the first line of {self.file.name}"
            raise InputError(f"there must be as many labels for each graph, {first}, but here are {len(cells)}")
        if self.comma:
            cells = [cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell for cell in cells]
        return [_number(cell, name) for cell, name in zip(cells, self.names, strict=True)]


class Smallest:
    """The smallest of some texts, "" before the first."""

    text = ""

    def add(self, text: str) -> None:
        """See a text."""
        self.text = min(self.text or text, text)


def choose_targets(table: Table, used: Sequence[str]) -> tuple[list[str], str]:
    """Find the column of the targets if the user does not name one, or several columns of labels 0 and 1.

    Args:
        table: The table.
        used: Columns that hold something else, such as the SMILES.

    Returns:
        Their names, and why they are the targets.
    """
    names = [name for name in table.header if name not in used]
    if not names:
        besides = " and ".join(map(shown, used))
        raise InputError(f"{table.path} must have at least one target besides column {besides}, but it has none")
    places = {name: table.place(name) for name in names}
    columns = {name: Column() for name in names}
    for _, row in table.read():
        for name, place in places.items():
            if place < len(row):
                columns[name].add(row[place])
    reasons = {name: column.why_no_target(name) for name, column in columns.items()}
    left = [name for name, reason in reasons.items() if not reason]
    out = [f"{shown(name)} {reason}" for name, reason in reasons.items() if reason]
    others = f"; {list_columns(out)}" if out else ""
    if len(left) > 1 and all(columns[name].labels for name in left):
        return left, f"{list_columns(left)}, all columns that can be one, because they hold 0 and 1 alone{others}"
    if len(left) > 1:
        raise InputError(
            f"{table.path} must have one column that can be the target, but it has {len(left)}: {list_columns(left)}; "
            "choose one or several by name (--target)"
        )
    if not left:
        raise InputError(
            f"{table.path} must have a column that can be the target, but {list_columns(out)}; "
            "choose one by name (--target)"
        )
    return left, f"{shown(left[0])}, the only column that can be one{others}"


class Column:
    """What is known about a column of a table, from all cells that were added."""

    def __init__(self) -> None:
        self.rows = self.known = 0
        self.counts_from = {0, 1}  # the numbers from which the cells may count the rows
        self.texts: set[str] | None = set()  # different cells; None if one is a number
        self.labels = True  # all known cells are 0 or 1

    def add(self, cell: str) -> None:
        """Look at the cell of the next row."""
        self.counts_from = {first for first in self.counts_from if cell == str(first + self.rows)}
        self.rows += 1
        if _is_unknown(cell):
            return
        self.known += 1
        if self.texts is not None and len(self.texts) <= MOST_CLASSES:
            self.texts.add(cell)
        number = _is_number(cell)
        self.labels = self.labels and number and float(cell) in (0, 1)
        if number or DECIMAL_COMMA.fullmatch(cell):
            self.texts = None

    def why_no_target(self, name: str) -> str:
        """Why a column of this name cannot be the target, to complete the sentence "The column ..."; "" if it can."""
        if IDENTIFIER.fullmatch(name):
            return "is named like a number or name of each row"
        if not self.known:
            return "is empty"
        if self.known < FEW_ROWS:
            return ""
        if self.counts_from:
            return "counts the rows"
        if self.texts is not None and len(self.texts) == 1:
            return "has the same text in every row"
        if self.texts is not None and len(self.texts) > min(self.known / 2, MOST_CLASSES):
            return "has too many different texts to be classes"
        return ""


def _is_unknown(cell: str) -> bool:
    return cell.strip().lower() in UNKNOWN


def _is_number(cell: str) -> bool:
    if "_" in cell:  # Python would read 1_000 as a number
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(cell: str, name: str) -> float:
    if _is_unknown(cell) or cell.strip().lower() == NO_NUMBER:
        return math.nan
    value = float(cell) if _is_number(cell) else math.nan
    if not math.isfinite(value):
        raise InputError(f"{name} must be a finite number, but it is {shown(cell)}")
    return value
