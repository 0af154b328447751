"""Run directories as a training leaves them, without a training."""

import json
from pathlib import Path

import torch
from tests.experiments.reproduce_samples import CONFIG
from tests.experiments.test_run_directory import RECORD

from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.row_file import gather, read_gathered
from pfgnn.training.checkpoint_file import BEST, LAST, Checkpoint, read_checkpoint, write_checkpoint

RUN = "tiny/b/seed0-fold0"  # of the table that Stage makes


def write_config(directory: Path, width: int = 4) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "config.yaml"
    path.write_text(CONFIG.replace("width: 4", f"width: {width}"))
    return path


def unfinished(directory: Path, update: int, epoch: int = 1, finished: bool = False) -> None:
    """A run with a checkpoint, whose best weights are those of the same update."""
    write_config(directory)
    (directory / "metrics.jsonl").write_text(json.dumps({"update": update}) + "\n")
    state = {"update": update, "epoch": epoch, "best": 0.5, "finished": finished}
    for name in (BEST, LAST):
        write_checkpoint(directory / name, Checkpoint({"w": torch.full((3,), float(update))}, {"run": state}))


def finished(directory: Path, weights: float | None = None, commit: str = "c") -> None:
    """A finished run, with its best weights on request."""
    write_config(directory)
    (directory / "metrics.jsonl").write_text(json.dumps({"update": 9}) + "\n")
    (directory / "record.json").write_text(json.dumps({**RECORD, "selected": "best", "commit": commit}))
    if weights is not None:
        write_checkpoint(directory / BEST, Checkpoint({"w": torch.full((3,), weights)}, {"run": {}}))


def progress(directory: Path) -> str:
    """How far a run is, as `reproduce` would find it."""
    if (directory / "record.json").exists():
        return "finished"
    if not (directory / LAST).exists():
        return "nothing"
    return f"update {read_checkpoint(directory / LAST).state['run']['update']}"


def gathered(results: Path, *runs: tuple[int, str], width: int = 4) -> None:
    """Gather records of the row tiny/b: the seed and the commit of each."""
    for seed, commit in runs:
        config = read_config(write_config(results, width), [f"seed={seed}"])
        gather(results / "tiny" / "b.json", config_mapping(config), {"commit": commit})


def commits(results: Path) -> dict[int, str]:
    """The commit of each seed of the row tiny/b."""
    return {run["seed"]: run["commit"] for run in read_gathered(results / "tiny" / "b.json").runs}
