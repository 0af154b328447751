"""Tables on narrow terminals: what is too wide goes on in the next line, and nothing is cut."""

import io
import os
import subprocess
import sys
from math import factorial

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


def test_of_several_processes_the_first_one_prints() -> None:
    command = [sys.executable, "-c", "from pfgnn.cli.console import console; console.print('said')"]
    said = [
        subprocess.run(command, env={**os.environ, "RANK": rank}, capture_output=True, text=True, check=True).stdout
        for rank in ("0", "1")
    ]
    assert said == ["said\n", ""]
