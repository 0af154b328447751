"""The predictions of a whole file."""

from pathlib import Path
from typing import Any

import torch

from pfgnn.experiments.predict import load_run
from pfgnn.experiments.prediction_table import Columns, Predictions


def predict_run(
    directory: Path, path: Path, draws: int = 16, particles: int | None = None, device: str = "cpu", **options: Any
) -> Predictions:
    """All pieces of the file as one."""
    pieces = list(load_run(directory, device).predict_file(path, draws, particles, **options))
    return Predictions(
        torch.cat([piece.mean for piece in pieces]),
        torch.cat([piece.error for piece in pieces]),
        pieces[0].names,
        torch.cat([piece.where for piece in pieces]),
        Columns(pieces[0].carried.names, [row for piece in pieces for row in piece.carried.rows]),
        rejects=[reject for piece in pieces for reject in piece.rejects],
    )
