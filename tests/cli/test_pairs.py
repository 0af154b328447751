"""The command pairs: its table has the numbers of marks that were tried."""

from pathlib import Path

import pytest
from tests.cli.process import pfgnn
from tests.suite import slow


@pytest.mark.parametrize(
    ("options", "columns"),
    [slow((), "T ≤ 0 T ≤ 1 T ≤ 2"), slow(("--train", 1), "T ≤ 2"), slow(("--limit",), "T ≤ 0 T ≤ 1 T ≤ 2")],
)
def test_a_trained_model_reads_all_marks_at_once(options: tuple[object, ...], columns: str, tmp_path: Path) -> None:
    done = pfgnn("pairs", "sr25", "--minutes", 0, "--out", tmp_path / "pairs.json", *options)
    assert done.returncode == 0, done.stderr
    header = next(line for line in done.stdout.splitlines() if "category" in line)
    assert f"pairs {columns} published" in " ".join(header.replace("┃", " ").split())
