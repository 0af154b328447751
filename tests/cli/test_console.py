"""Tables on narrow terminals: what is too wide goes on in the next line, and nothing is cut."""

import io
import json
import os
import subprocess
import sys
from math import factorial
from pathlib import Path

import pytest
from rich.console import Console

from pfgnn.cli.console import make_table


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_cell_is_cut(width: int) -> None:
    number, digest = str(factorial(60)), "0123456789abcdef" * 4
    table = make_table("fact", "a number", "hash", title="three columns")
    table.add_row("order", number, digest)
    written = io.StringIO()
    Console(file=written, width=width).print(table)
    said = written.getvalue()
    assert "…" not in said
    rows = [line[1:-1].split("│") for line in said.splitlines() if line.startswith("│")]
    columns = ["".join(row[place].strip() for row in rows) for place in range(3)]
    assert columns == ["order", number, digest]


def test_an_encoding_may_lack_characters(tmp_path: Path) -> None:
    name = f"{tmp_path}/ring→é.g6"
    Path(name).write_text("D?{\nD?{\n")
    command = [sys.executable, "-m", "pfgnn", "inspect", name, name, "--isomorphism", "0", "1"]
    for encoding, arrow, path in (("ascii", b"0 -> 0", b"ring->?.g6"), ("latin-1", b"0 -> 0", b"ring->\xe9.g6")):
        environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert arrow in done.stdout
        assert path in done.stdout
        as_json = subprocess.run([*command, "--json"], env=environment, capture_output=True, check=True)
        assert json.loads(as_json.stdout.decode(encoding))["graphs"][0]["file"] == name  # nothing is lost
        missing = subprocess.run([*command[:-3], "→.g6"], env=environment, capture_output=True, check=False)
        assert (missing.returncode, missing.stderr) == (2, b"pfgnn: ->.g6: No such file or directory\n")


def test_of_several_processes_the_first_one_prints() -> None:
    command = [sys.executable, "-c", "from pfgnn.cli.console import console; console.print('said')"]
    said = [
        subprocess.run(command, env={**os.environ, "RANK": rank}, capture_output=True, text=True, check=True).stdout
        for rank in ("0", "1")
    ]
    assert said == ["said\n", ""]
