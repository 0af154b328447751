from pathlib import Path

import pytest
from reliability.mutants import FILES, MOST_TESTS, Mutant, closest, mutants

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


def test_a_number_that_is_too_large_for_one_more_is_doubled(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text("LARGE = 1e16\n")
    (mutant,) = mutants(path)
    assert mutant.source == "LARGE = 2e+16"


def test_near_tests_known_results_and_some_of_every_file_are_run() -> None:
    near = [f"tests/model/test_stack.py::{number}" for number in range(50)]
    of_folder = ["tests/model/test_backbones.py::gin"]
    known = [f"tests/model/test_known_results.py::{number}" for number in range(60)]
    many, few = ([f"tests/{name}.py::{number}" for number in range(50)] for name in ("test_a", "test_b"))
    mutant = Mutant(Path("model/backbones/stack.py"), 1, "1", "2", "")
    found = closest([*many, *few[:3], *known, *of_folder, *near], mutant)
    assert {*known, *few[:3], *of_folder} <= set(found)
    assert len(found) == MOST_TESTS + len(known) + MOST_TESTS
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_are_there_and_have_mutants(path: Path) -> None:
    assert next(mutants(path), None) is not None or path.stem in (
        "backbone_alone",
        "mlp",
        "output",
        "particle_context",
        "registries",
    )
