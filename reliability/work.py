"""The commands that are disturbed by faults, and their results."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from pfgnn.experiments.rows import MAE, TableSpec, make_row
from pfgnn.graphs import csl, to_graph6
from reliability.samples import CONFIG, write_samples

# A table of three short runs, for `pfgnn reproduce`.
TINY = TableSpec("tiny", (make_row("tiny", "tiny", ("training.updates=12",), MAE, seeds=3),))


@dataclass(frozen=True)
class Work:
    """A command and its results.

    Args:
        name: Its name in the table.
        command: The arguments, given the folder to write to.
        again: The arguments that go on after a fault.
        results: What must not depend on faults, given the folder; None if the command has not finished.
        outputs: Files that are missing or whole at any time, relative to the folder.
    """

    name: str
    command: Callable[[Path], list[object]]
    again: Callable[[Path], list[object]]
    results: Callable[[Path], Any]
    outputs: tuple[str, ...]


def works(samples: Path) -> Iterator[Work]:
    """The commands that write files, each about a second long."""

    def train(folder: Path) -> list[object]:
        return ["train", samples / "long.yaml", "--out", folder / "run", "--device", "cpu"]

    def reproduce(folder: Path) -> list[object]:
        places = ["--results", folder / "results", "--runs", folder / "runs", "--configs", samples]
        return ["reproduce", "tiny", *places, "--device", "cpu"]

    def convert(folder: Path) -> list[object]:
        return ["data", "convert", samples / "many.g6", folder / "out.pfgnn", "--labels", samples / "many.txt"]

    def predict(folder: Path) -> list[object]:
        out = ["--out", folder / "out.csv", "--device", "cpu"]
        return ["predict", samples / "run", samples / "graphs.g6", "--draws", 200, *out]

    yield Work("train", train, lambda folder: [*train(folder), "--resume"], _run_results, ("run/record.json",))
    yield Work("reproduce", reproduce, reproduce, _table_results, ("results/tiny/tiny.json",))
    yield Work("convert", convert, convert, lambda folder: _bytes(folder / "out.pfgnn"), ("out.pfgnn",))
    yield Work("predict", predict, predict, lambda folder: _bytes(folder / "out.csv"), ("out.csv",))


def write_inputs(samples: Path) -> None:
    """Write what the commands read."""
    write_samples(samples)
    config = CONFIG.replace("own.pfgnn", str(samples / "own.pfgnn"))
    (samples / "tiny.yaml").write_text(config)
    (samples / "long.yaml").write_text(config.replace("updates: 3", "updates: 60\n  checkpoint_every: 3"))
    (samples / "many.g6").write_text(f"{to_graph6(csl(41, 3))}\n" * 20_000)
    (samples / "many.txt").write_text("".join(f"{number % 2}\n" for number in range(20_000)))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _run_results(folder: Path, run: str = "run") -> Any:
    """The record without times, and the weights."""
    if not (folder / run / "record.json").exists():
        return None
    record = json.loads((folder / run / "record.json").read_text())
    weights = {name: load_file(folder / run / f"{name}.safetensors") for name in ("best", "last")}
    return {key: record[key] for key in ("results", "pairs", "updates", "selected", "seed")}, weights


def _table_results(folder: Path) -> Any:
    """The records of the table without times."""
    path = folder / "results" / "tiny" / "tiny.json"
    if not path.exists():
        return None
    runs = json.loads(path.read_text())["runs"]
    kept = sorted((run["seed"], json.dumps(run["results"])) for run in runs)
    return kept if len(kept) == TINY.rows[0].seeds else None


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, bit for bit."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
