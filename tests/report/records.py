"""Made-up records of rows, as `pfgnn reproduce` gathers them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pfgnn.files import write_json

Run = dict[str, Any]


def run(seed: int, fold: int | None = None, pairs: dict[str, Any] | None = None, **parts: dict[str, float]) -> Run:
    """A run whose parts have these scores."""
    results = {part.replace("_", "-"): {"scores": scores} for part, scores in parts.items()}
    return {"seed": seed, "fold": fold, "results": results, "pairs": pairs}


def pair_counts(told: int, alarms: int, reliable: int, reliable_alarms: int, accuracy: float | None) -> dict[str, Any]:
    """Counts of 105 pairs and 1005 controls."""
    return {
        "pairs": 105,
        "controls": 1005,
        "paper_told_apart": told,
        "paper_false_alarms": alarms,
        "told_apart": reliable,
        "false_alarms": reliable_alarms,
        "accuracy": accuracy,
    }


def write(results: Path, table: str, row: str, runs: Sequence[Run]) -> Path:
    """Write a row's file."""
    path = results / table / f"{row}.json"
    write_json(path, {"table": table, "row": row, "config": {}, "runs": list(runs)})
    return path
