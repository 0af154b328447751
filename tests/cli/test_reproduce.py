"""What `pfgnn reproduce` says before and while it runs."""

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress
from tests.cli.process import pfgnn
from tests.experiments.test_run_progress import run as recorded

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.reproduce import _Bars, _own_device, _say_expected, duration
from pfgnn.experiments import reproduce as running
from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.plan import plan
from pfgnn.experiments.row_file import Record, gather
from pfgnn.experiments.run_progress import Running

CONFIG = "data: {name: connectivity, validation: null}\nmodel: {width: 4, layers: 1}\ntraining: {updates: 2}\n"


@pytest.fixture(autouse=True)
def without_the_records_of_this_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are looked for in the folder of the call too; there the checkout's own records would count."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (80, "80 s"), (150, "2 min"), (7200, "2 hours"), (86_400, "24 hours"), (10**6, "12 days")],
)
def test_times_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def record(device: str = "A") -> Record:
    return {"commit": "c", "results": {"test": {"scores": {"accuracy": 0.5}}}, **recorded(599, device=device)}


def gather_some(folder: Path, row: str, *overrides: str, device: str = "A") -> Path:
    """Write a config, and the record of seed 5 of a row. Returns the folder of records."""
    (folder / "configs").mkdir(exist_ok=True)
    (folder / "configs" / "connectivity.yaml").write_text(CONFIG)
    config = config_mapping(read_config(folder / "configs" / "connectivity.yaml", [*overrides, "seed=5"]))
    gather(folder / "results" / "table14" / f"{row}.json", config, record(device))
    return folder / "results"


@pytest.mark.parametrize(
    ("rows", "seeds", "sentence"),
    [
        (["connectivity-gin"], 1, "1 run is missing. It should need about 10 min of training and tests, as rec"),
        (["connectivity-gin", "connectivity-pf-gnn"], 1, "2 runs are missing. 1 of them should need about 10 min"),
        (["connectivity-gin", "connectivity-pf-gnn"], 1, "as recorded on A. No time is recorded for the other 1 in "),
        (["connectivity-pf-gnn"], 1, "1 run is missing. No time is recorded for it in "),
        (["connectivity-gin"], 4, "4 runs are missing. They should need about 40 min"),
    ],
)
def test_what_is_said_about_the_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[str], seeds: int, sentence: str
) -> None:
    results = gather_some(tmp_path, "connectivity-gin", "model.steps=0")
    places = {"out": results, "runs": tmp_path / "runs", "configs": tmp_path / "configs"}
    missing = plan(["table14"], **places, rows=rows, seeds=seeds)
    _say_expected(missing, results, 1, "A")
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize(("seeds", "words"), [(1, "It took 10 min of"), (4, "They took 40 min of")])
def test_times_of_another_device_are_no_forecast(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seeds: int, words: str
) -> None:
    results = gather_some(tmp_path, "connectivity-gin", "model.steps=0")
    places = {"out": results, "runs": tmp_path / "runs", "configs": tmp_path / "configs"}
    _say_expected(plan(["table14"], **places, rows=["connectivity-gin"], seeds=seeds), results, 2, "CPU, 1 thread")
    said = capsys.readouterr().out
    assert words in said
    assert "on another device: A. Here it is CPU, 1 thread, and it may take much more or less time." in said
    assert "should need" not in said


def test_the_same_name_of_a_cpu_may_be_another_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = gather_some(tmp_path, "connectivity-gin", "model.steps=0", device="CPU, 1 thread")
    places = {"out": results, "runs": tmp_path / "runs", "configs": tmp_path / "configs"}
    _say_expected(plan(["table14"], **places, rows=["connectivity-gin"], seeds=1), results, 1, "CPU, 1 thread")
    said = capsys.readouterr().out
    assert "as recorded on CPU, 1 thread; that CPU may be faster or slower than this one." in said


def test_without_records_it_is_told_where_times_would_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    gather_some(tmp_path, "connectivity-gin", "model.steps=0")
    places = {"out": Path("elsewhere"), "runs": tmp_path / "runs", "configs": tmp_path / "configs"}
    _say_expected(plan(["table14"], **places, rows=["connectivity-pf-gnn"], seeds=1), Path("elsewhere"), 1, "A")
    said = capsys.readouterr().out
    assert (
        "No time is recorded for it in elsewhere/ or results/; a checkout of pfgnn has records, so start from" in said
    )


@pytest.mark.parametrize(("threads", "jobs", "words"), [(3, 1, "CPU, 3 threads"), (None, 2, "CPU, 1 thread")])
def test_the_own_device_is_named_as_in_records(threads: int | None, jobs: int, words: str) -> None:
    assert _own_device("cpu", jobs, threads) == words


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope"], "name must be one of table1"),
        (["table14", "nope"], "name must be one of table1"),
        (["table14", "--minutes", "0"], "minutes must be more than 0 and at most 1000000, but it is 0"),
        (["table14", "--row", "nope"], "rows must each match the title of a row or one of"),
        (["table14", "--row", "connectivity-gin", "--device", "gpu"], "device must be one of auto, cpu, cuda"),
    ],
)
def test_wrong_input_is_refused_before_any_bar_or_run(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    done = pfgnn("reproduce", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_jobs_at_a_time_divide_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = gather_some(tmp_path, "connectivity-gin", "model.steps=0")
    places = {"out": results, "runs": tmp_path / "runs", "configs": tmp_path / "configs"}
    _say_expected(plan(["table14"], **places, rows=["connectivity-gin"], seeds=4), results, 2, "A")
    assert "about 20 min of training and tests with 2 at a time, as recorded on A." in capsys.readouterr().out


def test_bars_show_epoch_metric_and_time_left() -> None:
    console = Console(file=StringIO(), width=120, force_terminal=True, _environ={"TERM": "xterm"})
    columns = bar_columns("{task.description}", "{task.fields[note]}", elapsed=True)
    with Progress(*columns, console=console, auto_refresh=False) as bar:
        bars = _Bars(bar, "table")
        bars.count(running.Progress(1, 0, 0, 4))
        bars.watch([Running("a/seed0"), Running("a/seed1", 5, 10, 3, 0.25, 0.75)])
        bar.refresh()
        shown = {task.description: task for task in bar.tasks}
        assert set(shown) == {"table", "a/seed0", "a/seed1"}
        assert shown["table"].completed == 1.5
        assert (shown["a/seed1"].completed, shown["a/seed1"].total) == (5, 10)
        assert shown["a/seed0"].fields["note"] == "starting"
        assert shown["a/seed1"].fields["note"] == "epoch 3  validation 0.75  loss 0.25"
        bars.count(running.Progress(2, 0, 0, 4))
        assert [task.description for task in bar.tasks] == ["table"]
    assert isinstance(console.file, StringIO)
    assert re.search(r"a/seed1.*5/10", console.file.getvalue())
