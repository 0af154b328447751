import json
from pathlib import Path

import numpy as np

from pfgnn.report.curves import plot_training, running_median
from pfgnn.report.metrics_reader import read_metrics

LINES = [{"epoch": n, "loss": 1 / n, "validation": None if n == 1 else 2 / n} for n in (1, 2, 3)]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_runs_metrics_are_read_and_drawn(tmp_path: Path) -> None:
    file = write(tmp_path / "run" / "metrics.jsonl", "".join(json.dumps(line) + "\n" for line in LINES))
    assert read_metrics(file) == read_metrics(file.parent) == LINES
    plot_training({"runs": [LINES, LINES[:1]], "others": [LINES]}, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_running_median_does_not_see_single_peaks() -> None:
    values = np.arange(20.0)
    peaked = values.copy()
    peaked[10] = 1000
    assert running_median(values)[4:16].tolist() == values[4:16].tolist()
    assert abs(running_median(peaked) - running_median(values)).max() <= 1
    assert running_median(values)[0] == 2  # of 0 to 4: there is nothing before


def test_a_running_median_leaves_out_what_is_not_finite() -> None:
    assert running_median(np.array([1, np.nan, 3, np.inf, 5]), window=3).tolist()[:1] == [1]
    assert np.isfinite(running_median(np.array([1, np.nan, 3, np.inf, 5]), window=3)).all()
    assert np.isnan(running_median(np.array([np.nan]))).all()
