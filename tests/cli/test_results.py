"""The results commands as a user meets them."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from tests.cli.process import pfgnn
from tests.report.records import run, write
from typer.testing import CliRunner

from pfgnn.cli.reproduce import reproduce
from pfgnn.experiments import reproduce as running
from pfgnn.experiments.reproduce import Failure, Progress
from pfgnn.experiments.row_file import read_gathered
from pfgnn.report.result_files import BEGIN, END


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_tables_are_listed() -> None:
    done = pfgnn("tables")
    assert done.returncode == 0, done.stderr
    assert "Graph properties" in done.stdout
    rows = pfgnn("tables", "table14").stdout
    assert "connectivity-gin" in rows
    assert "connectivity.yaml" in rows


def test_report_prints_and_writes_what_was_run(tmp_path: Path) -> None:
    write(tmp_path / "results", "table14", "connectivity-gin", [run(s, test={"accuracy": 0.5}) for s in range(10)])
    done = pfgnn("report", "table14", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "50.00 ± 0.00" in done.stdout
    assert "not run yet" in done.stdout
    assert "pfgnn reproduce table14" in done.stdout
    assert "Wrote out/report.html." in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "table14.png"]
    assert "50.00 ± 0.00" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_report_writes_the_files_of_a_checkout(tmp_path: Path) -> None:
    write(tmp_path / "results", "table4", "zinc-pna", [run(s, test={"mae": 0.25}) for s in range(4)])
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"# Mine\n\n{BEGIN}\nof old\n{END}\n\nThe end.\n")
    done = pfgnn("report", "--write", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Wrote docs/results.md and README.md.\n"), done.stderr
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"# Mine\n\n{BEGIN}\n\n|  | GIN")
    assert readme.endswith(f"|\n\n{END}\n\nThe end.\n")
    assert "of old" not in readme
    for text in (readme, (tmp_path / "docs" / "results.md").read_text(encoding="utf-8")):
        assert "0.250 ± 0.000" in text


def test_curves_of_runs_are_drawn(tmp_path: Path) -> None:
    for seed in (0, 1):
        folder = tmp_path / "runs" / "gin" / f"seed{seed}"
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text('{"epoch": 1, "loss": 0.5, "validation": 0.4}\n')
    done = pfgnn("curves", "runs/gin/seed0", "runs/gin/seed1/metrics.jsonl", "--out", "picture.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Wrote picture.png" in done.stdout
    assert (tmp_path / "picture.png").stat().st_size > 1000


@pytest.mark.slow
def test_reproduce_runs_what_is_missing_and_prints_the_table(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "connectivity.yaml").write_text(
        "data: {name: connectivity, validation: null}\nmodel: {width: 4, layers: 1}\ntraining: {updates: 2}\n"
    )
    command = (
        "reproduce",
        "table14",
        "--row",
        "connectivity-gin",
        "--seeds",
        1,
        "--device",
        "cpu",
        "--jobs",
        2,
        "--configs",
        "configs",
    )
    done = pfgnn(*command, "--configs", "configs", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(
        "1 run is missing. No time is recorded for it in results/; a checkout of pfgnn has records"
    )
    assert re.search("1/1 .* 0 failed", done.stdout)
    assert "1 of 10" in done.stdout
    (record,) = read_gathered(tmp_path / "results" / "table14" / "connectivity-gin.json").runs
    assert (record["seed"], record["fold"], record["updates"]) == (0, None, 2)
    assert f"{100 * record['results']['test']['scores']['accuracy']:.2f}" in done.stdout
    assert record["device"].startswith("CPU, 1 thread")
    done = pfgnn(*command, "--configs", "configs", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing was run: results/ has the records of all these runs." in done.stdout


@pytest.mark.parametrize(
    ("outcome", "status", "text"),
    [
        ([Failure("runs/table14/connectivity-gin/seed0", "exit status 2: NaN")], 1, "seed0 failed: exit status 2: NaN"),
        (KeyboardInterrupt(), 130, "-m pfgnn reproduce table14 --row 'a b'\n"),
        ([], 0, "not run"),
    ],
)
def test_the_exit_status_tells_how_it_went(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    outcome: list[Failure] | KeyboardInterrupt,
    status: int,
    text: str,
) -> None:
    def stand_in(names: list[str], **options: object) -> list[Failure]:
        if isinstance(outcome, KeyboardInterrupt):
            raise outcome
        return outcome

    monkeypatch.setattr(running, "reproduce", stand_in)
    monkeypatch.setattr("sys.argv", ["pfgnn", "reproduce", "table14", "--row", "a b"])
    app = typer.Typer()
    app.command()(reproduce)
    done = CliRunner().invoke(app, ["table14", "--results", str(tmp_path)])
    assert done.exit_code == status
    assert text in done.output


@pytest.mark.parametrize(
    ("done", "words"), [(1, "1 of 4 runs ended well, 3 are left"), (3, "3 of 4 runs ended well, 1 is")]
)
def test_when_the_time_is_up_the_command_that_goes_on_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int, words: str
) -> None:
    given = ["table14", "table2", "--minutes", "9", "--row", "*", "--results", str(tmp_path)]

    def stand_in(
        names: list[str], *, minutes: float, progress: Callable[[Progress], None], **_: object
    ) -> list[Failure]:
        assert (names, minutes) == (["table14", "table2"], 9)
        progress(Progress(done, 0, 0, 4))
        return []

    monkeypatch.setattr(running, "reproduce", stand_in)
    monkeypatch.setattr("sys.argv", ["pfgnn", "reproduce", *given])
    app = typer.Typer()
    app.command()(reproduce)
    ended = CliRunner().invoke(app, given)
    assert ended.exit_code == 0, ended.output
    assert words in ended.stderr
    assert f" reproduce {shlex.join(given)}\n" in ended.stderr
    assert "table14: " in ended.stdout
    assert "table2: " in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["report"], "results must hold records, which `pfgnn reproduce NAME` writes, but it holds none"),
        (["report", "--results", "broken"], "broken/table2/gin.json must hold JSON"),
        (["report", "table14", "--write"], "--write writes all tables, so it must be given without names of tables"),
        (["report", "--write", "--results", "good"], "must be a checkout of pfgnn, with README.md and docs/"),
    ],
)
def test_wrong_input_gets_one_sentence_and_leaves_nothing(
    tmp_path: Path, arguments: list[object], sentence: str
) -> None:
    (tmp_path / "broken" / "table2").mkdir(parents=True)
    (tmp_path / "broken" / "table2" / "gin.json").write_text("{")
    write(tmp_path / "good", "table4", "zinc-pna", [run(0, test={"mae": 0.25})])
    done = pfgnn(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "good"]
