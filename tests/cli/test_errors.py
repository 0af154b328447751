"""What the user sees when something goes wrong: one sentence, or that it is a bug, and on request the traceback."""

import sys
from collections.abc import Callable
from pathlib import Path
from signal import SIGTERM

import pytest
from tests.cli.process import pfgnn

from pfgnn.cli.app import main
from pfgnn.errors import InputError, MissingPackageError
from pfgnn.interrupts import Stopped
from pfgnn.report import inspection

Failing = Callable[..., tuple[int, str]]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Failing:
    """`pfgnn OPTIONS inspect graphs.g6` in this process, where reading the graphs fails: exit status and errors."""

    def call(error: BaseException, *options: str) -> tuple[int, str]:
        def fail(path: Path, most: int) -> None:
            raise error

        monkeypatch.setattr(inspection, "read_graphs", fail)
        monkeypatch.setattr(sys, "argv", ["pfgnn", *options, "inspect", "graphs.g6"])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), capsys.readouterr().err

    return call


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InputError("depth must be at least 1, but it is [0]"), "depth must be at least 1, but it is [0]"),
        (MissingPackageError("SMILES need RDKit"), "SMILES need RDKit"),
        (PermissionError(13, "Permission denied", "graphs.g6"), "graphs.g6: Permission denied"),
        (MemoryError(), "there is too little memory"),
    ],
)
def test_wrong_input_ends_with_one_sentence_and_status_2(failing: Failing, error: Exception, sentence: str) -> None:
    assert failing(error) == (2, f"pfgnn: {sentence}\n")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (KeyError("selected"), "KeyError: 'selected'"),
        (AttributeError("no such name"), "AttributeError: no such name"),
        (IndexError("out of range"), "IndexError: out of range"),
        (AssertionError(), "AssertionError: "),
        (ValueError("cannot reshape array"), "ValueError: cannot reshape array"),
        (RuntimeError("sizes\nmust match"), "RuntimeError: sizes must match"),
        (ModuleNotFoundError("No module named 'a'"), "ModuleNotFoundError: No module named 'a'"),
    ],
)
def test_anything_else_is_told_as_a_bug_with_status_1(failing: Failing, error: Exception, name: str) -> None:
    status, err = failing(error)
    assert status == 1
    assert err == (
        f"pfgnn: this is a bug in pfgnn ({name}). `pfgnn --debug ...` shows where it happened. Please report it.\n"
    )


@pytest.mark.parametrize(("error", "status"), [(InputError("wrong"), 2), (KeyError("wrong"), 1)])
def test_debug_shows_the_traceback_and_keeps_the_status(failing: Failing, error: Exception, status: int) -> None:
    found, err = failing(error, "--debug")
    assert found == status
    assert err.startswith("Traceback (most recent call last):\n")
    assert "in fail\n    raise error\n" in err
    assert err.splitlines()[-1].startswith("pfgnn: ")


def test_a_signal_ends_with_one_sentence_and_its_status(failing: Failing) -> None:
    assert failing(KeyboardInterrupt()) == (130, "pfgnn: stopped by Ctrl-C\n")
    assert failing(Stopped(SIGTERM)) == (143, "pfgnn: stopped by SIGTERM\n")


def test_debug_comes_before_the_command(tmp_path: Path) -> None:
    done = pfgnn("--debug", "inspect", "missing.g6", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert done.stderr.endswith("pfgnn: missing.g6: No such file or directory\n")
    assert "No such option" in pfgnn("inspect", "missing.g6", "--debug", cwd=tmp_path).stderr
