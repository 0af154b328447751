"""What is reported of a run: where its record holds a number, and what a row's runs make of it."""

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
