"""Numbers as text, with as many decimals in all places where they are compared."""

import math

SHARES = ("accuracy", "roc_auc", "mean_roc_auc", "r2")  # metrics from 0 to 1, which have the same decimals everywhere
MOST_DECIMALS = 6


def decimals(value: float) -> int:
    """The number of decimals with which a number has three digits that count, at most 6."""
    if not math.isfinite(value) or value == 0:
        return 2
    return min(max(2 - math.floor(math.log10(abs(value))), 0), MOST_DECIMALS)


def metric_decimals(metric: str, value: float) -> int:
    """The decimals of a metric, from the value that others are compared with."""
    return 3 if metric in SHARES else decimals(value)


def fixed(value: float, places: int) -> str:
    """A number with so many decimals; one that these decimals cannot show is written as a power of ten."""
    if value and abs(value) < 0.5 * 10**-MOST_DECIMALS:
        return f"{value:.2e}"
    return f"{round(value, places) + 0.0:,.{places}f}"  # + 0.0 turns -0.0 into 0.0
