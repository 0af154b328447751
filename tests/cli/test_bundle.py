"""The commands that carry runs from one machine to another."""

from pathlib import Path

import pytest
from tests.cli.process import pfgnn
from tests.experiments.bundle_samples import finished
from tests.suite import slow

ROW = Path("runs", "table14", "connectivity-gin")


def test_runs_travel(tmp_path: Path) -> None:
    away, here = tmp_path / "away", tmp_path / "here"
    here.mkdir()
    for seed in (0, 1):
        finished(away / ROW / f"seed{seed}", 7.0)
    written = pfgnn("bundle", "state.zip", "table14", "--most", 16, cwd=away)
    assert written.returncode == 0, written.stderr
    assert written.stdout == "Wrote state-1.zip (0.0 MiB): 2 finished runs, 0 to go on with, records of 0 rows.\n"
    put = pfgnn("unbundle", "../away/state-1.zip", cwd=here)
    assert (put.returncode, put.stdout) == (0, "Put 2 runs into runs, and added 0 records to results.\n")
    assert sorted(path.name for path in (here / ROW / "seed1").iterdir()) == [
        *("config.yaml", "metrics.jsonl", "record.json"),
    ]
    again = pfgnn("unbundle", "../away/state-1.zip", cwd=here)
    assert again.stdout.splitlines() == [
        "Put 0 runs into runs, and added 0 records to results.",
        "2 runs stayed as they are here, because the bundle has nothing newer.",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("bundle state.zip", "runs or results must hold runs or records of these tables, but they hold none"),
        slow("bundle state.zip table0", "name must be one of table1"),
        slow("bundle table14", "the bundle must be a file that ends in .zip, but it is table14"),
        slow("bundle state.zip --most 0", "most must be at least 1, but it is 0"),
        slow("unbundle state.zip", "state.zip: No such file or directory"),
        slow("unbundle broken.zip", "broken.zip must be a bundle, as `pfgnn bundle` writes it, but it is truncated"),
        slow("unbundle .", ".: Is a directory"),
    ],
)
def test_wrong_input_gets_one_sentence_and_leaves_nothing(tmp_path: Path, arguments: str, sentence: str) -> None:
    (tmp_path / "broken.zip").write_text("no bundle")
    done = pfgnn(*arguments.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["broken.zip"]
