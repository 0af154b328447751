"""How far runs are, and how long they should take."""

import json
from pathlib import Path

import pytest

from pfgnn.experiments.row_file import Record
from pfgnn.experiments.run_progress import Expected, Running, expected_time, read_progress

ROW = Path("table") / "row.json"


def write_row(folder: Path, *runs: Record) -> None:
    (folder / ROW).parent.mkdir(parents=True)
    numbered = [{"seed": seed, "fold": None, **run} for seed, run in enumerate(runs)]
    content = {"table": "table", "row": "row", "config": {}, "runs": numbered}
    (folder / ROW).write_text(json.dumps(content))


def run(training: float, evaluation: float = 1, device: str = "A") -> Record:
    return {"seconds": {"training": training, "evaluation": evaluation}, "device": device}


def write_metrics(directory: Path, *lines: str) -> None:
    directory.mkdir(parents=True)
    (directory / "metrics.jsonl").write_text("".join(lines))


def line(update: int, validation: float | None = None) -> str:
    values = {"update": update, "updates": 10, "epoch": update // 2, "loss": 0.5, "validation": validation}
    return json.dumps(values) + "\n"


def test_the_last_whole_line_counts(tmp_path: Path) -> None:
    directory = tmp_path / "row" / "seed0"
    assert read_progress(directory) == Running("row/seed0")
    write_metrics(directory, line(2), line(4, 0.25), line(6)[:-9])
    assert read_progress(directory) == Running("row/seed0", 4, 10, 2, 0.5, 0.25)
    assert read_progress(directory).share == 0.4


@pytest.mark.parametrize("text", ["", "\n", "nonsense\n", "{}\n", "[]\n", line(2).replace("10", "null")])
def test_a_file_that_cannot_be_used_says_nothing(tmp_path: Path, text: str) -> None:
    write_metrics(tmp_path / "row" / "seed0", text)
    assert read_progress(tmp_path / "row" / "seed0") == Running("row/seed0")


def test_missing_runs_take_as_long_as_the_recorded_ones(tmp_path: Path) -> None:
    write_row(tmp_path, run(9), run(19, device="B"))
    new = [tmp_path / "row" / f"seed{seed}" for seed in (2, 3, 4)]
    missing = {ROW: new, Path("table/other.json"): [tmp_path / "other" / "seed0"]}
    assert expected_time(missing, [tmp_path]) == Expected(45.0, 3, 1, ("A", "B"))
    write_metrics(new[0], line(6))  # six tenths are done
    assert expected_time(missing, [tmp_path]).seconds == pytest.approx(45 - 9)


def test_the_first_folder_with_records_counts(tmp_path: Path) -> None:
    write_row(tmp_path / "a", run(9))
    write_row(tmp_path / "b", run(99))
    missing = {ROW: [tmp_path / "row" / "seed5"]}
    assert expected_time(missing, [tmp_path / "none", tmp_path / "b", tmp_path / "a"]).seconds == 100
    assert expected_time(missing, [tmp_path / "a", tmp_path / "b"]).seconds == 10
    assert expected_time(missing, []) == Expected(0.0, 0, 1, ())


@pytest.mark.parametrize("seconds", [None, 3, {}, {"training": "long", "evaluation": 1}])
def test_records_without_times_are_passed_over(tmp_path: Path, seconds: object) -> None:
    write_row(tmp_path, {"seconds": seconds})
    assert expected_time({ROW: [tmp_path / "row" / "seed1"]}, [tmp_path]) == Expected(0.0, 0, 1, ())
