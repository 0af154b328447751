"""What a reader should know first: whether molecules need more than 1-WL, and a table of the main results.

The table also stands in the README. Its words are here, its numbers come from records and from published.yaml.
"""

from dataclasses import replace
from pathlib import Path

from pfgnn.errors import InputError, shown
from pfgnn.experiments.rows import Row
from pfgnn.experiments.tables import find_table
from pfgnn.files import read_json
from pfgnn.report.blocks import Table
from pfgnn.report.brec import brec_total, read_brec
from pfgnn.report.published import PUBLISHED
from pfgnn.report.results import Runs, numbers, read_results, summary, values
from pfgnn.report.run_facts import seeds_done
from pfgnn.report.tables import NOT_RUN

DIAGNOSES = "diagnosis"  # folder of what `pfgnn diagnose NAME --json` prints
MOLECULES = {"zinc": "ZINC", "molhiv": "ogbg-molhiv", "qm9": "QM9"}
PERFECT = 100  # percent
HEADER = ("", "GIN or PNA alone", "paper's PF-GNN, as the paper prints it", "ours")


def lead(results: Path) -> str:
    """Whether molecules need more than 1-WL, as Markdown.

    Args:
        results: Folder of the records.
    """
    paths = {title: results / DIAGNOSES / f"{name}.json" for name, title in MOLECULES.items()}
    if missing := [path for path in paths.values() if not path.exists()]:
        commands = ", ".join(f"`pfgnn diagnose {path.stem} --json`" for path in missing)
        return f"Do molecules need more than 1-WL? This is {NOT_RUN}: {commands}."
    pairs = {title: _pairs(path) for title, path in paths.items()}
    told = [title for title, number in pairs.items() if number == 0]
    parts = [f"no two different molecules of {' or '.join(told)} are equal to 1-WL"] if told else []
    parts += [
        f"in {title} only {number:,} pairs {'are' if told else 'of different molecules are equal to 1-WL'}"
        for title, number in pairs.items()
        if number
    ]
    return (
        f"**With atom and bond types, {', and '.join(parts)}.** So gains there come from what a shallow GNN computes "
        "badly (rings, distances), not from telling molecules apart."
    )


def headline(results: Path) -> Table:
    """The table of the main results.

    Args:
        results: Folder of the records.
    """
    at = _Records(results)
    walks = at.score("zinc", "ours-k-16-38-in-the-test-ring-walks", 3)
    most = at.parameters("zinc", "ours", "ours-k-16-38-in-the-test-ring-walks")
    rows = (
        (
            "ZINC, mean absolute error",
            at.score("table4", "zinc-pna", 3),
            _printed("table4", "ZINC, PF-GNN"),
            f"**{at.score('zinc', 'ours', 3)}**, with ring walks **{walks}**; at most {most} parameters",
        ),
        (
            "EXP, ten folds, accuracy",
            at.score("one-setting", "exp-gin", 1),
            f"{_printed('table16', 'PF-GNN')} %",
            at.perfect("one-setting", "exp-pf-gnn"),
        ),
        (
            "CSL, five folds, accuracy",
            at.score("one-setting", "csl-gin", 1),
            f"{_printed('table2', 'PF-GNN')} %",
            at.perfect("one-setting", "csl-pf-gnn"),
        ),
        (
            "SR25, pairs told apart reliably",
            at.pairs("one-setting", "sr25-gin"),
            "not reported",
            at.pairs("one-setting", "sr25-pf-gnn", "**"),
        ),
        (
            "BREC, pairs told apart reliably",
            _brec(results, "no-marks"),
            "not reported",
            _brec(results, "trained", "**"),
        ),
        (
            "connectivity, 100 training graphs, accuracy",
            at.score("one-setting", "connectivity-gin", 1),
            f"{_printed('table14', 'connectivity, PF-GNN')} %",
            f"**{at.score('one-setting', 'connectivity-pf-gnn', 1)}**",
        ),
    )
    return Table("The main results", HEADER, rows)


class _Records:
    """The cells of the table, each from the records of one row."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._tables: dict[str, dict[str, Runs]] = {}

    def _find(self, table: str, name: str) -> tuple[Row, Runs | None]:
        if table not in self._tables:
            self._tables[table] = read_results(self._results, table)
        (row,) = (row for row in find_table(table).rows if row.name == name)
        return row, self._tables[table].get(name)

    def score(self, table: str, name: str, digits: int) -> str:
        """The mean and the deviation of a row's first measure."""
        row, runs = self._find(table, name)
        if runs is None:
            return NOT_RUN
        measure = replace(row.measures[0], digits=digits)
        unit = " %" if measure.scale == 100 else ""
        return f"{summary(runs, measure)}{unit}{_part(row, runs)}"

    def perfect(self, table: str, name: str) -> str:
        """The score, and in how many trainings it is 100 %."""
        row, runs = self._find(table, name)
        if runs is None:
            return NOT_RUN
        found = values(runs, row.measures[0])
        perfect = sum(of == PERFECT for of in found)
        return f"**{self.score(table, name, 1)}**, perfect in {perfect} of {len(found)} trainings"

    def pairs(self, table: str, name: str, mark: str = "") -> str:
        """The smallest number of pairs told apart by the reliable rule, over the seeds, and its false alarms.

        ``mark`` is put around the number of pairs, such as ** for bold.
        """
        row, runs = self._find(table, name)
        if runs is None:
            return NOT_RUN
        told, of, alarms, controls = (
            numbers(runs, f"pairs.{key}") for key in ("told_apart", "pairs", "false_alarms", "controls")
        )
        if not all((told, of, alarms, controls)):  # a number is null
            return "-"
        least = "" if len(set(told)) == 1 else "at least "
        seeds = f" in each of {len(told)} seeds" if len(told) > 1 else ""
        return (
            f"{mark}{least}{min(told)} of {of[0]}{mark}{seeds}{_part(row, runs)}; "
            f"false alarms {sum(alarms):,} of {sum(controls):,}"
        )

    def parameters(self, table: str, *names: str) -> str:
        """The largest number of parameters of some rows."""
        runs = [self._find(table, name)[1] for name in names]
        found = [number for of in runs if of for number in numbers(of, "parameters")]
        return f"{max(found):,}" if found else NOT_RUN


def _brec(results: Path, name: str, mark: str = "") -> str:
    """The pairs of BREC that a record tells apart, and its false alarms; ``mark`` as in :meth:`_Records.pairs`."""
    for table in read_brec(results):
        if table.name == name:
            of = brec_total(table.lines)
            if not of.compared or of.controls is None:
                return NOT_RUN
            published = f", {of.published} by its own rule" if of.published is not None else ""
            alarms = f"false alarms {of.controls[1]:,} of {of.controls[0]:,}"
            return f"{mark}{of.by_steps[-1]} of {of.compared}{mark}{published}; {alarms}"
    return NOT_RUN


def _part(row: Row, runs: Runs) -> str:
    """How many runs there are, if some are missing."""
    unit = " seeds" if row.folds is None else ""
    return "" if len(runs.runs) >= len(row.run_keys()) else f" ({seeds_done(row, runs)}{unit})"


def _printed(table: str, title: str) -> str:
    """The first number of a published row."""
    (row,) = (row for row in PUBLISHED[table] if row.title == title)
    return next(iter(row.cells.values()))


def _pairs(path: Path) -> int:
    """The number of pairs of different graphs that 1-WL cannot tell apart, as `pfgnn diagnose --json` counts them."""
    pairs = read_json(path).get("pairs")
    if isinstance(pairs, bool) or not isinstance(pairs, int):
        raise InputError(
            f"{path} must hold what `pfgnn diagnose {path.stem} --json` prints, but pairs is {shown(pairs)}"
        )
    return pairs
