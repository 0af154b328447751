"""The program that measures predictions, at tiny sizes."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import predict
from rich.console import Console

LINUX = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="there is no /proc to look at memory")
# Uses 100 MiB of memory and waits.
HUNGRY = "text = b'x' * 100 * 2**20; print('ready', flush=True); input()"


@LINUX
def test_the_memory_of_all_processes_is_counted() -> None:
    before = predict.memory(os.getpid())
    assert before > 2**20
    command = [sys.executable, "-c", HUNGRY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.pid in list(predict.processes_of(os.getpid()))
        assert predict.memory(os.getpid()) - before > 90 * 2**20
        process.communicate(b"\n")
    assert predict.memory(process.pid) == 0


@LINUX
@pytest.mark.slow
def test_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")

    def write_table(path: Path, rows: int) -> None:
        path.write_text("smiles\n" + "CCO\n" * (rows - 1) + "C(C\n")

    monkeypatch.setattr(predict, "write_table", write_table)
    text = io.StringIO()
    predict.measure(20, 2, tmp_path / "predict.json", Console(file=text, width=200))
    record = json.loads((tmp_path / "predict.json").read_text())
    assert [of["rows"] for of in record["table"]["runs"]] == [2, 20]
    assert all(of["peak MiB of all processes"] > 50 for of in record["table"]["runs"])
    assert record["one molecule"]["1 draws"]["median ms"] > 0
    assert "table of 20 molecules" in text.getvalue()
