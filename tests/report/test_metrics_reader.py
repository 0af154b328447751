import json
from pathlib import Path

import pytest

from pfgnn.errors import InputError
from pfgnn.report.metrics_reader import group_runs, read_metrics, validation_metric

WRONG_TYPE = b'{"epoch": 1, "loss": "low", "validation": null}\n'
TOO_LARGE = b'{"epoch": 1%s, "loss": 1, "validation": null}\n' % (b"0" * 400)


@pytest.mark.parametrize(
    "content", [b"", b"not json\n", b"3\n", b'{"epoch": 1}\n', b"[" * 100_000, WRONG_TYPE, TOO_LARGE]
)
def test_a_file_that_holds_no_metrics_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match="must hold lines of a run's metrics"):
        read_metrics(tmp_path / "metrics.jsonl")


@pytest.mark.parametrize(
    ("metric", "training", "scores", "name"),
    [
        ("mae", {}, {"mae": 1}, "mae"),
        ("accuracy", {"select": "metric"}, {"accuracy": 1}, "accuracy"),
        ("accuracy", {"select": "log_loss"}, {"accuracy": 1}, "log loss"),
        ("mae", {"standardise": True}, {"mae": 1}, "mae"),
        ("mae", {"standardise": True}, {"mae": 1, "mae/a": 1, "mae/b": 1}, "mae, in deviations,"),
        ("error_ratio", {"standardise": True}, {"error_ratio": 1, "mae/a": 1}, "error_ratio"),
    ],
)
def test_what_a_validation_scores_follows_from_the_record(
    tmp_path: Path, metric: str, training: dict[str, object], scores: dict[str, float], name: str
) -> None:
    record = {"config": {"training": training}, "results": {"test": {"metric": metric, "scores": scores}}}
    (tmp_path / "record.json").write_text(json.dumps(record))
    assert validation_metric(tmp_path) == validation_metric(tmp_path / "metrics.jsonl") == name


def test_without_a_result_the_validation_has_no_name(tmp_path: Path) -> None:
    assert validation_metric(tmp_path) is None
    (tmp_path / "record.json").write_text('{"results": {}}')
    assert validation_metric(tmp_path) is None
    (tmp_path / "record.json").write_text("{}")
    with pytest.raises(InputError, match=r"record.json must be the record of a run"):
        validation_metric(tmp_path)


def test_a_folder_without_metrics_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be a run directory or its metrics\.jsonl, but .* does not exist"):
        read_metrics(tmp_path)


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["runs/first", "runs/second"], ["first", "second"]),
        (["a/run", "b/run"], ["a/run", "b/run"]),
        (["a/run/metrics.jsonl", "b/run"], ["a/run", "b/run"]),
        (["x/a/run", "y/a/run", "run"], ["x/a/run", "y/a/run", None]),  # the last one has a long name
        (["gin/seed0", "gin/seed1", "pna/seed0", "pna/seed12-fold3"], ["gin", "gin", "pna", "pna"]),
        (["t1/gin/seed0", "t2/gin/seed0"], ["t1/gin", "t2/gin"]),
        (["gin/seed0.jsonl", "gin/seed1/metrics.jsonl"], ["gin", "gin"]),
        (["runs/csl-seed0", "runs/csl-seed1", "runs/exp-seed0-fold2"], ["csl", "csl", "exp"]),
    ],
)
def test_only_seeds_and_folds_of_a_setting_share_a_name(paths: list[str], names: list[str | None]) -> None:
    groups = group_runs([Path(path) for path in paths])
    found = {str(path): name for name, of in groups.items() for path in of}
    assert found.keys() == set(paths)
    for path, name in zip(paths, names, strict=True):
        assert found[path] == name or (name is None and found[path].endswith(f"/{path}"))
