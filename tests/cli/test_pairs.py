"""The command pairs: its table has the numbers of marks that were tried."""

from pathlib import Path

import pytest
from tests.cli.process import pfgnn
from tests.suite import slow
from typer.testing import CliRunner

from pfgnn.cli.app import app
from pfgnn.errors import InputError


@pytest.mark.parametrize(
    ("options", "columns"),
    [slow((), "T ≤ 0 T ≤ 1 T ≤ 2"), slow(("--train", 1), "T ≤ 2"), slow(("--limit",), "T ≤ 0 T ≤ 1 T ≤ 2")],
)
def test_a_trained_model_reads_all_marks_at_once(options: tuple[object, ...], columns: str, tmp_path: Path) -> None:
    done = pfgnn("pairs", "sr25", "--minutes", 0, "--out", tmp_path / "pairs.json", *options)
    assert done.returncode == 0, done.stderr
    header = next(line for line in done.stdout.splitlines() if "category" in line)
    assert f"pairs {columns} published" in " ".join(header.replace("┃", " ").split())
    assert "There was no time for a comparison" in done.stdout
    assert not (tmp_path / "pairs.json").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--out", "pairs.txt"], "out must end in .json, but it is pairs.txt"),
        (["--out", "pairs.json", "--limit", "--train", "4"], "--limit draws and trains nothing, so --train must not"),
        (["--out", "pairs.json", "--limit", "--seeds", "1"], "--limit draws and trains nothing, so --seeds must not"),
        (["--out", "pairs.json", "--policy", "uniform"], "--policy must be given with --train, but it is uniform"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        CliRunner().invoke(app, ["pairs", "sr25", *options], catch_exceptions=False)


@pytest.mark.slow
def test_a_narrow_terminal_cuts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    done = pfgnn("pairs", "sr25", "--minutes", 0, "--out", tmp_path / "pairs.json")
    assert "…" not in done.stdout
    assert "0 of 0" not in done.stdout  # there were no controls
