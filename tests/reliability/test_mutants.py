from pathlib import Path

import pytest
from reliability.mutants import FILES, mutants

SOURCE = '''
"""A text with 3 numbers stays."""
from typing import Literal

def f(x: Literal[1], y: int = 2) -> float:
    if not x < 3:
        return -x * 4
    return y if x and y else 0.5
'''


def test_each_place_is_changed_once(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text(SOURCE)
    found = {(mutant.before, mutant.after) for mutant in mutants(path)}
    assert found == {
        ("2", "3"),
        ("not x < 3", "not not x < 3"),
        ("x < 3", "x <= 3"),
        ("3", "4"),
        ("-x * 4", "-x / 4"),
        ("-x", "+x"),
        ("4", "5"),
        ("y if x and y else 0.5", "0.5 if x and y else y"),
        ("x and y", "x or y"),
        ("0.5", "1.5"),
    }
    for mutant in mutants(path):
        compile(mutant.source, "mutant", "exec")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_are_there_and_have_mutants(path: Path) -> None:
    assert next(mutants(path), None) is not None or path.stem in (
        "backbone_alone",
        "output",
        "particle_context",
        "registries",
    )
