"""A table of tiny runs, shared by the tests of `reproduce`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pfgnn.experiments import run_process
from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.reproduce import Failure, reproduce
from pfgnn.experiments.row_file import read_gathered
from pfgnn.experiments.rows import ACCURACY, Row, TableSpec
from pfgnn.experiments.tables import TABLES

CONFIG = """
data: {name: csl, options: {copies: 5}, fold: 0}
model: {width: 4, layers: 1, steps: 1, particles: 2}
training: {updates: 2, batch_size: 10}
"""
# Stands for `pfgnn train`: it writes a record, or does what it is told for this seed.
STUB = """
import json, os, sys, time
from pathlib import Path

here, words = Path(__file__).parent, sys.argv[1:]
config, out = words[1], Path(words[words.index("--out") + 1])
settings = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
with (here / "calls").open("a") as calls:
    calls.write(" ".join([words[0], Path(config).name, *settings, words[-1]]) + "\\n")
how = json.loads((here / "how.json").read_text()).get(next(s for s in settings if s.startswith("seed")), "well")
if how == "hang":
    (here / "hanging").touch()
    time.sleep(600)
if how == "fail":
    print("first line\\npfgnn: the loss is NaN\\n", file=sys.stderr)
    sys.exit(2)
if how != "silent":
    out.mkdir(parents=True, exist_ok=True)
    record = json.loads((here / "records.json").read_text())[" ".join(settings)]
    record["results"] = [record["results"], os.environ.get("OMP_NUM_THREADS")]
    (out / "record.json").write_text(json.dumps(record))
"""


class Stage:
    """A folder with a table of one or two rows, a config, and a stub for the training."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "configs").mkdir()
        (folder / "configs" / "tiny.yaml").write_text(CONFIG)
        self.rows = (
            Row("A", "a", "tiny.yaml", (), ACCURACY, seeds=2, folds=2),
            Row("B", "b", "tiny.yaml", ("model.steps=0",), ACCURACY, seeds=3, folds=1),
        )
        monkeypatch.setitem(TABLES, "tiny", TableSpec("Tiny", self.rows))

    def stub(self, monkeypatch: pytest.MonkeyPatch, **how: str) -> None:
        (self.folder / "stub.py").write_text(STUB)
        monkeypatch.setattr(run_process, "PFGNN", (sys.executable, str(self.folder / "stub.py")))
        records = {}
        for row in self.rows:
            for seed, fold in row.run_keys():
                overrides = (*row.overrides, f"seed={seed}", f"data.fold={fold}")
                config = config_mapping(read_config(self.folder / "configs" / "tiny.yaml", overrides))
                records[" ".join(overrides)] = {
                    "commit": "c",
                    "seed": seed,
                    "config": config,
                    "results": seed + (fold or 0),
                }
        (self.folder / "records.json").write_text(json.dumps(records))
        self.how(**how)

    def how(self, **how: str) -> None:
        (self.folder / "how.json").write_text(json.dumps({key.replace("_", "="): value for key, value in how.items()}))

    def reproduce(self, **options: Any) -> list[Failure]:
        folder = self.folder
        options = {
            "out": folder / "results",
            "runs": folder / "runs",
            "configs": folder / "configs",
            "jobs": 2,
            **options,
        }
        return reproduce(["tiny"], **options)

    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return sorted(path.read_text().splitlines()) if path.exists() else []

    def keys(self, row: str) -> list[tuple[int, int | None]]:
        path = self.folder / "results" / "tiny" / f"{row}.json"
        return [(run["seed"], run["fold"]) for run in read_gathered(path).runs]
