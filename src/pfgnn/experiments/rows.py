"""A row of a table: a model, its runs, and the numbers that are reported."""

from dataclasses import dataclass
from typing import Literal

Statistic = Literal["mean", "median", "max", "min", "std", "total"]


@dataclass(frozen=True)
class Measure:
    """A number of a run's record, and the statistic over all runs of a row.

    Args:
        column: Title of the column, in the paper's table or added by us.
        path: Keys of the number in the record, joined by dots.
        of: Keys of a number by which it is divided, for counts; None for no division.
        statistic: Statistic over the runs. "total" shows the sums of both counts, as "3 of 1000".
        scale: Factor, such as 100 for percentages.
        digits: Digits after the decimal point.
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
        title: The model, after the dataset if the table has several. Must equal the title of the paper's row.
        name: Name of its files.
        config: Config file, relative to the folder of configs.
        overrides: Changes of the config.
        measures: Numbers that are reported.
        seeds: Number of seeds, counted from 0.
        folds: Number of folds; None for a dataset with fixed parts.
        grid: Title of the grid, T and K, if the row is a cell of a grid.
        shared: The row whose runs these are, as TABLE/ROW; None for a row with runs of its own.
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
        """The seed and the fold of each run."""
        folds = [None] if self.folds is None else range(self.folds)
        return [(seed, fold) for seed in range(self.seeds) for fold in folds]


def run_folder(seed: int, fold: int | None) -> str:
    """The name of a run's directory in the folder of its row.

    Args:
        seed: Seed of the run.
        fold: Fold of the run; None for a dataset with fixed parts.
    """
    return f"seed{seed}" if fold is None else f"seed{seed}-fold{fold}"


@dataclass(frozen=True)
class TableSpec:
    """A table.

    Args:
        title: What the table shows.
        rows: The rows, in order.
    """

    title: str
    rows: tuple[Row, ...]


def alone(backbone: str) -> tuple[str, ...]:
    """The overrides for a backbone alone, without steps and particles."""
    return f"model.backbone={backbone}", "model.steps=0"


def file_name(title: str) -> str:
    """The file name of a title: "LCC, RNI 12.5 %" becomes lcc-rni-12.5."""
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
    """Make a row whose files are named after its title.

    Args:
        title: See :class:`Row`.
        config: Config file without .yaml, relative to the folder of configs.
        overrides: See :class:`Row`.
        measures: See :class:`Row`.
        seeds: See :class:`Row`.
        folds: See :class:`Row`.
    """
    return Row(title, file_name(title), f"{config}.yaml", overrides, measures, seeds, folds)


def _score(column: str, score: str = "accuracy", part: str = "test", scale: float = 100, digits: int = 2) -> Measure:
    """A metric on a part of the data."""
    return Measure(column, f"results.{part}.scores.{score}", scale=scale, digits=digits)


BACKBONES = {"GCN": "gcn", "GAT": "gat", "GIN": "gin", "GNNML1": "gnnml1"}  # of table 1

# Pairs told apart by both rules, each with its false alarms. They are always reported together.
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
VALIDATION_ROC_AUC = _score("validation ROC-AUC", "roc_auc", "validation")
