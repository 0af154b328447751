"""BREC by category, from the records that `pfgnn pairs brec` writes to results/brec."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pfgnn.data.verify import FACTS
from pfgnn.errors import InputError, shown
from pfgnn.files import read_json, reading
from pfgnn.report.run_facts import NONE, seconds_text
from pfgnn.report.tables import NOT_RUN

FOLDER = "brec"
MUST = "hold comparisons of all pairs of BREC, as `pfgnn pairs brec` writes them"
# Pairs of each category, in the order of the dataset.
CATEGORIES: dict[str, int] = {
    name: number // 2 for name, number in FACTS["brec"].items() if name not in ("graphs", "pairs", "hash")
}


class PairLine(NamedTuple):
    """What was found about one category.

    Fields:
        category: Name of the category.
        pairs: Number of its pairs.
        compared: How many of them were compared.
        by_steps: How many are told apart reliably with at most 0, 1, ... steps, or in a trained record with T steps;
            empty if none was compared.
        published: How many are told apart by the published rule; None in the limit.
        controls: Number of isomorphic pairs, and how many of them were told apart; None if there are none.
        seconds: Mean seconds of a comparison.
    """

    category: str
    pairs: int
    compared: int
    by_steps: tuple[int, ...]
    published: int | None
    controls: tuple[int, int] | None
    seconds: float


class PairTable(NamedTuple):
    """A record of BREC.

    Fields:
        name: Name of its file.
        first: Smallest T in ``by_steps``: 0, or T if the models were trained.
        steps: Largest T.
        how: Whether and how the models were trained, as text.
        particles: Largest K as text; "all paths" in the limit.
        draws: Outputs of each graph, as text.
        seeds: Number of seeds.
        device: Device on which the times were measured.
        lines: The categories.
    """

    name: str
    first: int
    steps: int
    how: str
    particles: str
    draws: str
    seeds: int
    device: str
    lines: tuple[PairLine, ...]


def read_brec(results: Path) -> list[PairTable]:
    """Read all records of BREC. Empty if there are none.

    Args:
        results: Folder of the records.
    """
    return [_read(path) for path in sorted((results / FOLDER).glob("*.json"))]


def brec_header(first: int, steps: int) -> tuple[str, ...]:
    """Titles of the columns of :func:`brec_rows`."""
    reached = (f"T ≤ {T}" for T in range(first, steps + 1))
    return ("category", "pairs", *reached, "published rule", "false alarms", "seconds a pair")


def brec_rows(lines: Sequence[PairLine], first: int, steps: int) -> list[tuple[str, ...]]:
    """The cells of a table: a row for each category, and one for all.

    Args:
        lines: The categories.
        first: Smallest T that is shown.
        steps: Largest T.
    """
    return [_cells(line, steps + 1 - first) for line in (*lines, brec_total(lines))]


def not_compared() -> tuple[PairLine, ...]:
    """The categories without any comparison."""
    return tuple(PairLine(name, pairs, 0, (), None, None, 0.0) for name, pairs in CATEGORIES.items())


def category_title(name: str) -> str:
    """The name of a category as text: strongly_regular becomes "strongly regular", and cfi, a name's letters, "CFI"."""
    return name.upper() if name == "cfi" else name.replace("_", " ")


def _read(path: Path) -> PairTable:
    # Here, because it imports torch, which takes seconds.
    from pfgnn.experiments.pair_table import count_categories, count_controls

    record = read_json(path)
    if record.get("dataset") != "brec":
        raise InputError(f"{path} must {MUST}, but its dataset is {shown(record.get('dataset'))}")
    of_pair = [name for name, pairs in CATEGORIES.items() for _ in range(pairs)]
    with reading(path, MUST):
        settings: dict[str, Any] = record.get("settings", {})
        steps = int(settings["steps"] if settings else record["steps"])
        trained = settings.get("updates", 0) > 0
        first = steps if trained else 0
        found = {of.name: of for of in count_categories(record, of_pair)}
        lines = []
        for line in not_compared():
            if of := found.get(line.category):
                own = [row for row in record["comparisons"] if of_pair[row["pair"]] == line.category]
                counted = count_controls({**record, "comparisons": own}) if settings else None
                controls = (counted.number, counted.false_alarms) if counted else None
                reached = tuple(of.by_steps[first:])
                line = line._replace(compared=of.pairs, by_steps=reached, published=of.published)
                line = line._replace(controls=controls, seconds=of.seconds)
            lines.append(line)
        return PairTable(
            path.stem,
            first,
            steps,
            f"trained for each pair, {settings['policy']} policy" if trained else "not trained",
            f"at most {settings['particles']:,}" if settings else "all paths",
            str(settings.get("draws", NONE)),
            int(settings.get("seeds", 1)),
            str(record["device"]),
            tuple(lines),
        )


def brec_total(lines: Sequence[PairLine]) -> PairLine:
    """All categories as one line."""
    done = [line for line in lines if line.compared]
    controls = [line.controls for line in done if line.controls]
    compared = sum(line.compared for line in done)
    seconds = sum(line.seconds * line.compared for line in done) / max(1, compared)
    return PairLine(
        "all",
        sum(line.pairs for line in lines),
        compared,
        tuple(map(sum, zip(*(line.by_steps for line in done), strict=True))),
        None if any(line.published is None for line in done) else sum(line.published or 0 for line in done),
        (sum(number for number, _ in controls), sum(alarms for _, alarms in controls)) if controls else None,
        seconds,
    )


def _cells(line: PairLine, columns: int) -> tuple[str, ...]:
    pairs = str(line.pairs) if line.compared in (0, line.pairs) else f"{line.compared} of {line.pairs} compared"
    reached = map(str, line.by_steps) if line.compared else [NOT_RUN] * columns
    alarms = f"{line.controls[1]} of {line.controls[0]}" if line.controls else NONE
    return (
        category_title(line.category),
        pairs,
        *reached,
        NONE if line.published is None else str(line.published) if line.compared else NOT_RUN,
        alarms,
        seconds_text(line.seconds) if line.compared else NONE,
    )
