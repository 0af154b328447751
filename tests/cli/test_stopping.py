"""A command that is stopped prints the command that goes on, and that one works as printed."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.experiments.run_samples import packed, small, written

from pfgnn.cli.stopping import command_again, going_on
from pfgnn.experiments import run_process
from pfgnn.experiments.config_file import read_config
from pfgnn.interrupts import ENDING, Stopped
from pfgnn.training.checkpoint_file import LAST, read_checkpoint

PROGRAM = [sys.executable, "-m", "pfgnn"]
SAID = "Stopped. Go on with: "


def again(monkeypatch: pytest.MonkeyPatch, given: Sequence[str], program: str = "pfgnn") -> list[str]:
    monkeypatch.setattr(sys, "argv", [program, *given])
    return shlex.split(command_again("--resume", instead_of=["--resume-previous"]))


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (["train", "a.yaml"], ["train", "--resume", "a.yaml"]),
        (["train", "a.yaml", "--resume"], ["train", "--resume", "a.yaml"]),
        (["train", "--resume-previous", "a.yaml"], ["train", "--resume", "a.yaml"]),
        (["--debug", "train", "a.yaml"], ["--debug", "train", "--resume", "a.yaml"]),
        (["train", "--out", "x", "--", "a.yaml"], ["train", "--resume", "--out", "x", "--", "a.yaml"]),
        (["train", "a b.yaml", "--set", "a='$HOME'"], ["train", "--resume", "a b.yaml", "--set", "a='$HOME'"]),
        (
            ["train", "--set", 'a=[b, "c"]', "--set", "a=*;"],
            ["train", "--resume", "--set", 'a=[b, "c"]', "--set", "a=*;"],
        ),
        (["train", "tab\there", "line\nbreak", "ü"], ["train", "--resume", "tab\there", "line\nbreak", "ü"]),
    ],
)
def test_every_word_is_kept_and_quoted(monkeypatch: pytest.MonkeyPatch, given: list[str], want: list[str]) -> None:
    assert again(monkeypatch, given) == [*PROGRAM, *want]


def test_the_program_is_named_as_it_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "bin" / "pfgnn"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert again(monkeypatch, ["train"], str(script))[0] == str(script)
    monkeypatch.setenv("PATH", str(script.parent))
    assert again(monkeypatch, ["train"], str(script))[0] == "pfgnn"
    (tmp_path / "__main__.py").touch()
    assert again(monkeypatch, ["train"], str(tmp_path / "__main__.py"))[:3] == PROGRAM


def test_under_torchrun_as_many_processes_go_on_and_one_says_so(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "pfgnn"]
    assert again(monkeypatch, ["train"]) == [*torchrun, "train", "--resume"]
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert again(monkeypatch, ["train"])[:2] == ["torchrun", "OPTIONS"]
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit), going_on():
        raise KeyboardInterrupt
    assert capsysbinary.readouterr() == (b"", b"")


def test_without_results_there_is_nothing_to_go_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pfgnn", "train", "csl", "--out", "r"])
    with pytest.raises(SystemExit), going_on("--resume", folder=tmp_path / "r"):
        raise KeyboardInterrupt
    said = capsys.readouterr().err
    assert said.startswith("Stopped before anything was written. Begin again with: ")
    assert said.endswith(" train csl --out r\n")


@pytest.mark.parametrize("number", [signal.SIGINT, *ENDING], ids=lambda number: number.name)
def test_the_exit_status_names_the_signal_and_the_words_are_printed_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], number: signal.Signals
) -> None:
    name = os.fsdecode(b"\xff\tb:x:[red]" + 300 * b"c")  # no text in UTF-8, and long
    monkeypatch.setattr(sys, "argv", ["pfgnn", "reproduce", name])
    with pytest.raises(SystemExit) as end, going_on():
        raise Stopped(number)
    assert end.value.code == 128 + number
    want = [*map(os.fsencode, PROGRAM), b"reproduce", b"'" + os.fsencode(name) + b"'"]
    assert capsysbinary.readouterr().err == SAID.encode() + b" ".join(want) + b"\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name must be quoted."""
    folder = tmp_path / "it's my $HOME"
    folder.mkdir()
    return folder


def stop(command: list[str], folder: Path, directory: Path, number: signal.Signals) -> str:
    """Start a command, send it a signal once the training of a run has begun; what it prints."""
    metrics = directory / "metrics.jsonl"
    metrics.unlink(missing_ok=True)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's job in the background ignores Ctrl-C, and so would its child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        deadline = time.monotonic() + 100
        while not metrics.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(number)
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + number
    assert err.splitlines()[-1].startswith(SAID)
    return out + err


def stop_twice(
    command: list[str], folder: Path, directory: Path, number: signal.Signals
) -> tuple[list[int], list[str]]:
    """Stop a command, and stop the command that it prints: the update of each checkpoint, and what each one prints."""
    updates, said = [], []
    for _ in range(2):
        said.append(stop(command, folder, directory, number))
        updates.append(read_checkpoint(directory / LAST).state["run"]["update"])
        command = ["sh", "-c", "exec " + said[-1].split(SAID)[1]]
    return updates, said


@pytest.mark.slow
def test_a_stopped_training_goes_on_by_the_printed_command(folder: Path) -> None:
    """Every option counts: with another seed, width or out it would be another run."""
    endless = {"epochs": 10**6, "checkpoint_every": None, "validate_every": 10**6}
    config = written(folder / "a b.yaml", small(packed(folder), endless))
    options = ["--set", "seed=3", "--set", "model.width=4", "--device", "cpu", "--out", "run & more"]
    directory = folder / "run & more"
    (first, second), _ = stop_twice([*PROGRAM, "train", config.name, *options], folder, directory, signal.SIGINT)
    assert 0 < first < second
    assert read_config(directory / "config.yaml") == read_config(config, ["seed=3", "model.width=4"])


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stopped_reproduction_goes_on_by_the_printed_command(folder: Path, jobs: int) -> None:
    """With its number of seeds and its rows, of which it would do all otherwise.

    With two jobs, the run is a training of its own, which gets SIGTERM.
    """
    (folder / "configs").mkdir()
    (folder / "configs" / "connectivity.yaml").write_text(
        "data: {name: connectivity, validation: null}\nmodel: {width: 4, layers: 1}\n"
        "training: {epochs: 1000000, batch_size: 20, validate_every: 1000000}\n"
    )
    rows = ["--row", "connectivity-gi[n]", "--seeds", "1", "--configs", "configs"]
    command = [*PROGRAM, "reproduce", "table14", *rows, "--device", "cpu", "--jobs", str(jobs)]
    row = folder / "runs" / "table14" / "connectivity-gin"
    (first, second), said = stop_twice(command, folder, row / "seed0", signal.SIGTERM)
    assert 0 < first < second
    assert all(re.search("0/1 .* 0 failed", out) for out in said)
    assert [path.name for path in row.iterdir() if path.is_dir()] == ["seed0"]


def test_a_run_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    monkeypatch.setattr(run_process, "GRACE", 0.1)
    run_process.stop([process])
    assert process.returncode == -signal.SIGKILL
    process.stdout.close()
