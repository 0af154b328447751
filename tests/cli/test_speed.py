"""A wrong argument is told at once: nothing that takes seconds to import is imported before."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.experiments.test_run_directory import RECORD
from tests.suite import slow

CODE = """
import sys
from pfgnn.cli import main
try:
    main()
finally:
    print("imported:", *({"torch", "torch_geometric", "scipy", "matplotlib"} & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        ("--help", 0, "particle filter"),
        ("train --help", 0, "Train a model and test it"),
        ("tables", 0, "table14"),
        slow("data list", 0, "connectivity"),
        slow("train missing.yaml", 2, "missing.yaml must be a config that can be read"),
        slow("train znic", 2, "did you mean zinc or ours/zinc?"),
        ("configs", 0, "ours/zinc"),
        slow("train good.yaml --set model.width=a", 2, "model.width must be an integer"),
        slow("train good.yaml --out run", 2, "run must be a new directory, but it holds a run"),
        slow("train good.yaml --set data.name=zink", 2, "name must be one of csl, sr25"),
        slow("train good.yaml --set data.name=missing.pfgnn", 2, "missing.pfgnn: No such file"),
        slow("evaluate missing", 2, "missing must hold a finished run, but no run is there"),
        slow("evaluate run --set evaluation.particels=3", 2, "did you mean particles?"),
        slow("predict missing new.g6", 2, "missing must hold a finished run, but no run is there"),
        slow("predict run new.g6", 2, "new.g6: No such file"),
        slow("predict run new.g6 --draws 1000000000", 2, "draws must be at most 10000"),
        slow("explain missing CCO", 2, "missing must hold a finished run, but no run is there"),
        slow("explain run CCO --draws 1", 2, "draws must be at least 2"),
        slow("explain run CCO --picture a.png", 2, "picture must end in .svg, but it is a.png"),
        slow("demo --particles 0", 2, "particles must be at least 1, but it is 0"),
        slow("inspect missing.g6", 2, "missing.g6: No such file"),
        slow("data info zink", 2, "name must be one of csl, sr25"),
        slow("data info missing.pfgnn", 2, "missing.pfgnn: No such file"),
        slow("data convert missing.csv out.pfgnn", 2, "missing.csv: No such file"),
        slow("reproduce table0", 2, "name must be one of table1"),
        slow("reproduce table14 --configs missing", 2, "connectivity.yaml must be a config that can be read"),
        slow("bundle state.zip", 2, "runs or results must hold runs or records"),
        slow("unbundle good.yaml", 2, "good.yaml must be a bundle"),
        slow("report", 2, "results must hold records"),
        slow("curves missing", 2, "missing must be a run directory or its metrics.jsonl"),
    ],
)
def test_torch_is_not_imported_for_a_wrong_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, status: int, sentence: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "run").mkdir()
    for file in ("good.yaml", "run/config.yaml"):
        (tmp_path / file).write_text("data: {name: connectivity}\ntraining: {epochs: 1}\n")
    (tmp_path / "run" / "record.json").write_text(json.dumps(RECORD))
    command = [sys.executable, "-c", CODE, *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == status
    assert sentence in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "imported:"
