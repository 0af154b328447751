"""Ctrl-C ends every command with one sentence and status 130, from its first moment on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.suite import slow

SAID = "pfgnn: stopped by Ctrl-C\n"
# Calls CALL when the module NAME is about to be imported, and then runs the command line.
CODE = """
import signal, sys, weakref
from pfgnn.cli import main

class Thing:
    pass

def lost():  # Python only prints an exception of such a callback, and goes on
    thing = Thing()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing

def now():
    signal.raise_signal(signal.SIGINT)

def ending():
    signal.raise_signal(signal.SIGTERM)

def ready():
    print("ready", flush=True)

class Watch:
    @staticmethod
    def find_spec(name, *_):
        if name == NAME:
            CALL()

sys.meta_path.insert(0, Watch)
main()
"""


def start(call: str, module: str, arguments: str, folder: Path) -> "subprocess.Popen[str]":
    """Start a command that calls a function when it imports a module. It has a process group of its own."""
    code = CODE.replace("CALL", call).replace("NAME", repr(module))
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's job in the background ignores Ctrl-C, and so would its child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        ("tables", "pfgnn.cli.app"),
        ("tables", "typer"),
        ("data list", "rich.progress"),
        ("inspect graphs.g6", "numpy"),
        ("parts", "torch"),
        slow("train configs/connectivity.yaml", "torch.nn"),
        slow("reproduce table14 --configs configs", "torch.nn"),
    ],
)
@pytest.mark.parametrize(("call", "status"), [("now", 130), ("lost", 130), ("ending", 143)])
def test_in_the_middle_of_an_import(tmp_path: Path, arguments: str, module: str, call: str, status: int) -> None:
    (tmp_path / "graphs.g6").write_text("A_\n")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "connectivity.yaml").write_text(
        "data: {name: connectivity, validation: null}\ntraining: {epochs: 1}\n"
    )
    with start(call, module, arguments, tmp_path) as process:
        out, err = process.communicate(timeout=100)
    assert process.returncode == status
    if module == "torch.nn":  # these commands say how to go on
        first = "Stopped. Go on with: " if "reproduce" in arguments else "Stopped before anything was written. "
        assert err.splitlines()[-1].startswith(first)
        assert len(err.splitlines()) == 1
    else:
        assert (out, err) == ("", SAID if status == 130 else "pfgnn: stopped by SIGTERM\n")


MANY = 1500  # enough molecules for several processes


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.1, 0.4, 1.0, 2.0])
@pytest.mark.parametrize("arguments", ["data convert own.csv own.pfgnn", "inspect graphs.g6", "demo"])
def test_at_any_moment_as_a_terminal_sends_it(tmp_path: Path, arguments: str, moment: float) -> None:
    """To all processes of the command at once. Meanwhile a quick command may have ended by itself."""
    if "convert" in arguments:
        pytest.importorskip("rdkit", reason="needs the extra chem")
    (tmp_path / "graphs.g6").write_text("A_\n")
    rows = [f"{number % 40 * 'C'}c1ccccc1,{number / 7}\n" for number in range(MANY)]
    (tmp_path / "own.csv").write_text("smiles,y\n" + "".join(rows))
    with start("ready", "pfgnn.cli.app", arguments, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moment)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        err = process.communicate(timeout=100)[1]
    if err.startswith("Stopped. Go on with: "):
        assert "convert" in arguments  # which can go on
        assert (process.returncode, len(err.splitlines())) == (130, 1)
    else:
        assert (process.returncode, err) in ((130, SAID), (0, ""))
    assert process.returncode == 130 or (moment > 0 and arguments != "demo")
    assert not [path for path in tmp_path.rglob(".*") if process.returncode == 130]
