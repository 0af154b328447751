from pathlib import Path

import pytest

from pfgnn.report.metrics_reader import read_metrics

WRONG_TYPE = b'{"epoch": 1, "loss": "low", "validation": null}\n'
TOO_LARGE = b'{"epoch": 1%s, "loss": 1, "validation": null}\n' % (b"0" * 400)


@pytest.mark.parametrize(
    "content", [b"", b"not json\n", b"3\n", b'{"epoch": 1}\n', b"[" * 100_000, WRONG_TYPE, TOO_LARGE]
)
def test_a_file_that_holds_no_metrics_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match="must hold lines of a run's metrics"):
        read_metrics(tmp_path / "metrics.jsonl")


def test_a_folder_without_metrics_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be a run directory or its metrics\.jsonl, but .* does not exist"):
        read_metrics(tmp_path)
