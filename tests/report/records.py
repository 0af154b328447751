"""Made-up records of rows, as `pfgnn reproduce` gathers them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pfgnn.files import write_json

Run = dict[str, Any]


CONFIG = {"model": {"kind": "pfgnn", "steps": 2, "particles": 4}, "evaluation": {"particles": 9, "draws": 3}}


def run(seed: int, fold: int | None = None, pairs: dict[str, Any] | None = None, **parts: dict[str, float]) -> Run:
    """A run whose parts have these scores. It took 10 seconds and one for each seed before."""
    results = {part.replace("_", "-"): {"scores": scores} for part, scores in parts.items()}
    about = {"parameters": 1234, "seconds": {"training": 10.0 + seed}, "device": "CPU, 1 thread", "devices": 1}
    return {"seed": seed, "fold": fold, **about, "results": results, "pairs": pairs}


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
    write_json(path, {"table": table, "row": row, "config": CONFIG, "runs": list(runs)})
    return path


def write_brec(results: Path, least: dict[int, int | None], alarms: Sequence[int] = ()) -> Path:
    """Write a record of BREC, as `pfgnn pairs brec` does, with T up to 2.

    Args:
        results: Folder of the records.
        least: For each pair that was compared the T that tells it apart; None if none does.
        alarms: Pairs of which one graph was told from itself.
    """
    rows = [
        {
            "seed": 0,
            "pair": pair,
            "seconds": 2.0,
            "evidence": [
                {
                    "steps": T,
                    "particles": 64,
                    "paths": 64,
                    "t2": 99.0 if steps is not None and steps <= T else 1.0,
                    "control_t2": [1.0, 99.0 if pair in alarms else 1.0],
                    "threshold": 50.0,
                    "published_t2": 99.0 if steps is not None and steps <= T else 1.0,
                    "published_control_t2": [1.0, 1.0],
                }
                for T in range(3)
            ],
        }
        for pair, steps in least.items()
    ]
    settings = {"steps": 2, "particles": 64, "draws": 16, "level": 1e-6, "seeds": 1}
    about = {"device": "CPU, 1 thread", "dataset": "brec", "settings": settings, "threshold": 50.0}
    path = results / "brec" / "made-up.json"
    write_json(path, {**about, "comparisons": rows})
    return path
