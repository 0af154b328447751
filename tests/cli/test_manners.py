"""What every command line should do: version, completion, JSON, documented exit statuses, and a fast start."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.process import pfgnn

import pfgnn as package
from pfgnn.cli.app import app, main
from pfgnn.errors import InputError
from pfgnn.experiments.pretrained import pretrained_models
from pfgnn.interrupts import Stopped
from pfgnn.report import inspection

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def test_the_version() -> None:
    done = pfgnn("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"pfgnn {package.__version__}\n", "")


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], str]:
    """Runs lines of bash with a command pfgnn and a home folder of its own, and returns what they print."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    command = tmp_path / "bin" / "pfgnn"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom pfgnn.cli import main\nmain()\n")
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path)}

    def run(lines: str) -> str:
        done = subprocess.run([bash, "-c", lines], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_completion_is_installed_and_completes(shell: Callable[[str], str], tmp_path: Path) -> None:
    shell("pfgnn --install-completion; exit $?")
    script = tmp_path / ".bash_completions" / "pfgnn.sh"
    assert str(script) in (tmp_path / ".bashrc").read_text()
    for words, reply in (
        ("insp", "inspect"),
        ("data info zi", "zinc"),
        ("tables sr25", "sr25-reliable"),
        ("configs ours/sr", "ours/sr25"),
        ("train ours/sr", "ours/sr25"),
    ):
        place = len(words.split())
        typed = f"COMP_WORDS=(pfgnn {words}); COMP_CWORD={place}"
        said = shell(f"source {script}; {typed}; _pfgnn_completion pfgnn; echo ${{COMPREPLY[@]}}")
        assert said.split() == [reply]


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit status of `pfgnn inspect graphs.g6` if reading the graphs raises an error."""

    def fail(path: Path, most: int) -> None:
        raise error

    monkeypatch.setattr(inspection, "read_graphs", fail)
    monkeypatch.setattr(sys, "argv", ["pfgnn", "inspect", "graphs.g6"])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def without_reader(*arguments: str) -> int:
    """The exit status of a command whose output nobody reads. It must say nothing about it."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from pfgnn.cli import main; main()", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert done.stderr == b""
    return done.returncode


@pytest.mark.parametrize("command", ["--help", "inspect --help", "parts", "data list --json", "tables table14"])
def test_a_closed_pipe_ends_a_command_quietly(command: str) -> None:
    assert without_reader(*command.split()) == 141


def test_every_exit_status_of_the_page_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    documented = {int(status) for status in re.findall(r"^\| (\d+) \| ", PAGE.read_text(), re.MULTILINE)}
    found = {
        pfgnn("--version").returncode,
        fail_with(KeyError("a bug"), monkeypatch),
        fail_with(InputError("wrong"), monkeypatch),
        fail_with(KeyboardInterrupt(), monkeypatch),
        fail_with(Stopped(signal.SIGTERM), monkeypatch),
        without_reader("--version"),
    }
    assert found == documented
    assert pfgnn("inspect", "--no-such-option").returncode == 2
    assert pfgnn("no-such-command").returncode == 2


def test_the_page_names_every_command_and_option() -> None:
    page = PAGE.read_text()
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    names |= {group.name for group in app.registered_groups if group.name}
    first = "".join(line for line in page.splitlines() if line.startswith("| `"))
    for name in names:
        assert f"`{name}`" in first, name
    for option in ("--version", "--debug", "--install-completion", "--show-completion"):
        assert f"| `{option}` |" in page


@pytest.mark.parametrize("command", ["data list", "data info csl", "tables", "tables table14", "configs", "cards"])
def test_json_is_all_that_is_on_stdout(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PFGNN_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    done = pfgnn(*command.split(), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    rows = found if isinstance(found, list) else [found]
    known = {row.get("name") or row["table"] for row in rows}
    assert known & {"csl", "table14"} or known == set(pretrained_models())


def test_json_of_a_report(tmp_path: Path) -> None:
    done = pfgnn("report", "table14", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)["table14"]
    assert all(set(line) == {"row", "column", "paper", "measured", "runs"} for line in lines)
    assert {line["measured"] for line in lines} == {None}


def test_json_of_parts() -> None:
    done = pfgnn("parts", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert {"setting": "model.backbone", "name": "gin", "class": "GIN"}.items() <= found[2].items()
    assert all(part["about"] for part in found)


def test_parts_can_be_read_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least half of the width is for the description."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = pfgnn("parts").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    (line,) = [line for line in lines if line.startswith("│   gin ")]
    assert len(line.split("│")[2]) >= 40


@pytest.mark.slow
def test_help_is_fast() -> None:
    """CPU time in starts of Python itself, so that a slow or busy machine does not matter. It was 22 on a busy one.

    With torch, which must not be imported, it would be over 100.
    """

    def seconds(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    start = min(seconds("-c", "pass") for _ in range(5))
    ours = min(seconds("-c", "from pfgnn.cli import main; main()", "--help") for _ in range(5))
    assert ours < 60 * start


HEAVY = {"torch", "torch_geometric", "scipy", "numpy", "matplotlib", "networkx", "rdkit", "sklearn", "yaml"}


@pytest.mark.parametrize("arguments", ["--help", "--version", "diagnose --help", "data info --help"])
def test_help_imports_nothing_heavy(arguments: str) -> None:
    code = "import sys\nfrom pfgnn.cli import main\ntry:\n    main()\nfinally:\n    print('imported:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *arguments.split()], capture_output=True, text=True, check=True)
    imported = set(done.stdout.splitlines()[-1].split())
    assert "pfgnn.cli.app" in imported
    assert not imported & HEAVY
