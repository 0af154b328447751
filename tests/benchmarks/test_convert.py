"""The benchmark of `pfgnn data convert` at a tiny size, and how it adds up memory."""

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import convert
from rich.console import Console


@pytest.mark.slow
def test_a_conversion_is_measured(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    with gzip.open(tmp_path / "molhiv.csv.gz", "wt") as file:
        file.write("smiles,HIV_active\nCCO,0\nCC,1\nC1,0\n")
    out = tmp_path / "convert.json"
    record = convert.run(tmp_path / "molhiv.csv.gz", 30, 1, out, Console(file=io.StringIO()))
    assert (record["molecules"], record["graphs"], record["shards"]) == (30, 20, 1)
    assert record["peak MiB of all processes"] > 10
    assert record["extrapolated to 10 million"]["minutes"] == pytest.approx(record["seconds"] * 1e7 / 30 / 60)
    assert record["CPU seconds of all processes"] > 0.1
    assert out.exists()


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system does not tell the memory")
def test_memory_is_that_of_a_process_and_its_children() -> None:
    alone, count = convert.memory(os.getpid())
    assert alone > 2**20
    waiting = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert convert.memory(os.getpid())[1] == count + 1
        assert waiting.pid in convert.family(os.getpid())
    finally:
        waiting.communicate(b"\n")
    assert convert.memory(waiting.pid) == (0, 0)
