"""A row of a table: a model, the runs that measure it, and what is reported of them."""

from dataclasses import dataclass
from typing import Literal

Statistic = Literal["mean", "median", "max", "min", "std", "total"]


@dataclass(frozen=True)
class Measure:
    """A number that each run's record holds, and how a row's runs become one.

    Args:
        column: of the paper's table, or of our own beside it.
        path: keys into the record, joined by dots.
        of: keys of what the number is divided by, where it counts something.
        statistic: over the runs; "total" adds up the counts.
        scale: by which the number is multiplied, 100 for percentages.
        digits: after the point.
    """

    column: str
    path: str
    of: str | None = None
    statistic: Statistic = "mean"
    scale: float = 100
    digits: int = 2


@dataclass(frozen=True)
class Row:
    """One model of a table: a config, run once for each seed and fold.

    Args:
        title: the model, and the dataset where the table has several. Must equal the title of the paper's row.
        name: of its files.
        config: a file below the folder of configs.
        overrides: of the config.
        measures: what is reported of it.
        seeds: 0 to this, without it.
        folds: number of folds; None for fixed parts.
        grid: which grid, T and K, for a cell of a grid.
        shared: the table whose row of this name is the same runs; they are run once.
    """

    title: str
    name: str
    config: str
    overrides: tuple[str, ...]
    measures: tuple[Measure, ...]
    seeds: int = 1
    folds: int | None = None
    grid: tuple[str, int, int] | None = None
    shared: str | None = None

    def run_keys(self) -> list[tuple[int, int | None]]:
        """Seed and fold of each run."""
        folds = [None] if self.folds is None else range(self.folds)
        return [(seed, fold) for seed in range(self.seeds) for fold in folds]


@dataclass(frozen=True)
class TableSpec:
    """What a table shows, and its rows in order."""

    title: str
    rows: tuple[Row, ...]


def alone(backbone: str) -> tuple[str, ...]:
    """Overrides for the backbone without particles."""
    return f"model.backbone={backbone}", "model.steps=0"


def file_name(title: str) -> str:
    """A title as a file name: "LCC, RNI 12.5 %" becomes lcc-rni-12.5."""
    kept = "".join(letter if letter.isalnum() or letter == "." else " " for letter in title.lower())
    return "-".join(kept.split())


def make_row(
    title: str,
    config: str,
    overrides: tuple[str, ...],
    measures: tuple[Measure, ...],
    seeds: int = 1,
    folds: int | None = None,
) -> Row:
    """A row whose file is named after its title; see :class:`Row`."""
    return Row(title, file_name(title), f"{config}.yaml", overrides, measures, seeds, folds)


def _score(column: str, score: str = "accuracy", part: str = "test", scale: float = 100, digits: int = 2) -> Measure:
    return Measure(column, f"results.{part}.scores.{score}", scale=scale, digits=digits)


# Both rules for telling a pair apart, each with its control; never one without the others.
PAIRS = (
    Measure("told apart, paper's rule", "pairs.paper_told_apart", "pairs.pairs"),
    Measure("false alarms of that rule", "pairs.paper_false_alarms", "pairs.controls", "total"),
    Measure("told apart, reliable", "pairs.told_apart", "pairs.pairs"),
    Measure("false alarms, reliable", "pairs.false_alarms", "pairs.controls", "total"),
    Measure("accuracy on relabelled graphs", "pairs.accuracy"),
)
ACCURACY = (_score("accuracy"),)
FIVE = tuple(
    Measure(statistic, "results.test.scores.accuracy", statistic=statistic)
    for statistic in ("mean", "median", "max", "min", "std")
)
LARGE = (_score("accuracy", part="test-large"),)
TRIANGLES = (_score("orig"), _score("large", part="test-large"))
THREE_PARTS = (_score("train", part="train"), *TRIANGLES)
LCC = (
    _score("N", "mean_roc_auc"),
    _score("X (large)", "mean_roc_auc", "test-large"),
    _score("N, accuracy"),
    _score("X (large), accuracy", part="test-large"),
)
MAE = (_score("MAE", "mae", scale=1, digits=3),)
VALIDATION_MAE = (_score("validation MAE", "mae", "validation", scale=1, digits=3),)
SPREAD = Measure("spread of a prediction", "results.validation.spread", scale=1, digits=4)
LOG_MAE = _score("LogMAE", "log_mae", scale=1, digits=3)
MAE_100 = (_score("MAE × 100", "mae"),)
ERROR_RATIOS = tuple(
    _score(column, f"error_ratio/{target}", scale=1, digits=3)
    for column, target in zip(
        ("mu", "alpha", "HOMO", "LUMO", "gap", "R2", "ZPVE", "U0", "U", "H", "G", "Cv"),
        ("mu", "alpha", "homo", "lumo", "gap", "r2", "zpve", "u0", "u298", "h298", "g298", "cv"),
        strict=True,
    )
)
ROC_AUC = (_score("ROC-AUC", "roc_auc"),)
