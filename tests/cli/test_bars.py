"""Progress bars in narrow terminals, and the option --threads."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from rich.console import Console
from rich.progress import Progress
from tests.experiments.run_samples import packed, small, written
from typer.testing import CliRunner

from pfgnn.cli import train
from pfgnn.cli.app import app
from pfgnn.cli.bars import bar_columns, fitting, gone_after_errors
from pfgnn.training.devices import set_threads
from pfgnn.training.metrics_file import Status

STATUS = Status(11_999, 24_000, 119, 0.123456, -0.0123, 15.9, 3.07, 1e-3, 0.98765)


def terminal(width: int) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, width=width, force_terminal=True, color_system=None), text


@pytest.mark.parametrize("width", [70, 80, 200])
def test_counts_and_times_are_never_cut(width: int) -> None:
    console, text = terminal(width)
    bar = Progress(*bar_columns("{task.description}", "{task.fields[failed]} failed", elapsed=True), console=console)
    bar.add_task("a-table-with-a-name-that-is-much-longer-than-others", total=24_000, completed=11_999, failed=123)
    console.print(bar.get_renderable())
    [line] = text.getvalue().splitlines()
    assert re.search(r"… [━╸]+ +11999/24000 \d:\d\d:\d\d (-:--:--|\d:\d\d:\d\d) 123 failed$", line)
    assert len(line) <= width


@pytest.mark.parametrize(
    ("width", "shown", "hidden"),
    [
        (200, ["loss 0.1235", "validation 0.9877", "lr 1.0e-03", "entropy 3.1", "ess 15.9", "policy -0.012"], []),
        (80, ["loss 0.1235", "validation 0.9877"], ["lr", "entropy", "ess", "policy"]),
        (50, ["loss 0.1235"], ["validation", "lr"]),
        (40, [], ["loss"]),
    ],
)
def test_training_shows_what_fits(
    monkeypatch: pytest.MonkeyPatch, width: int, shown: list[str], hidden: list[str]
) -> None:
    console, text = terminal(width)
    monkeypatch.setattr(train, "console", console)
    with train.progress_bar() as report:
        report(STATUS)
    [line] = {
        line for line in re.split(r"[\r\n]|\x1b\[[0-9?]*[a-zA-Z]", text.getvalue()) if line.startswith("epoch 119")
    }
    assert "11999/24000" in line
    assert re.search(r" (-:--:--|\d:\d\d:\d\d)", line)
    assert len(line) <= width
    assert all(part in line for part in shown)
    assert not any(part in line for part in hidden)


def test_parts_that_do_not_fit_are_left_out() -> None:
    narrow = Console(width=8 + 8 + 6 + 7 + 4 + 10)
    assert fitting(["12345", "789", "0"], "epoch 12", "12/100", narrow) == "12345  789"
    assert fitting(["12345", "7890", "1"], "epoch 12", "12/100", narrow) == "12345"  # what follows waits for its turn
    assert fitting(["12345678901"], "epoch 12", "12/100", narrow) == ""


@pytest.fixture
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_threads_as_before")
def test_one_thread_unless_somebody_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(3)
    set_threads(None)
    assert torch.get_num_threads() == 1
    set_threads(2)
    assert torch.get_num_threads() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    set_threads(None)
    assert torch.get_num_threads() == 2  # torch itself has read it


def test_commands_take_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, run = written(tmp_path / "small.yaml", small(packed(tmp_path))), tmp_path / "run"
    graph = tmp_path / "one.g6"
    graph.write_text("D?{\n")
    seen: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", seen.append)
    for number, command in enumerate(
        (["train", config, "--out", run], ["evaluate", run], ["predict", run, graph, "--out", tmp_path / "out.csv"]), 2
    ):
        done = CliRunner().invoke(app, [*map(str, command), "--device", "cpu", "--threads", str(number)])
        assert done.exit_code == 0, done.output
    assert seen == [2, 3, 4]


@pytest.mark.parametrize("command", ["train x", "evaluate x", "predict x x", "demo", "reproduce x"])
@pytest.mark.parametrize("threads", ["0", "-1", "1000000", "two"])
def test_a_wrong_number_is_refused(command: str, threads: str) -> None:
    done = CliRunner().invoke(app, [*command.split(), "--threads", threads])
    assert done.exit_code == 2
    assert "--threads" in done.output


@pytest.mark.parametrize("done", [0, 3])
def test_a_bar_that_has_not_begun_is_gone_after_an_error(done: int) -> None:
    shown = io.StringIO()
    bar = Progress(*bar_columns(), console=Console(file=shown, width=80))
    with bar:
        bar.update(bar.add_task("lines", total=9), completed=done)
        with pytest.raises(KeyError), gone_after_errors(bar):
            raise KeyError
    assert ("3/9" in shown.getvalue()) == (done == 3)
    assert "0/9" not in shown.getvalue()
