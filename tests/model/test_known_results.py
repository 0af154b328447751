"""Models with known weights predict what they predicted before, so that a trained model keeps its meaning.

The numbers of the file were written by this code. If a change of the method is wanted, they are written anew.
"""

import json
from typing import Any

import pytest
from tests.model.known_results import FILE, results

KNOWN = json.loads(FILE.read_text())


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return results()


def test_the_same_results_are_known(found: dict[str, Any]) -> None:
    assert {group: list(of_group) for group, of_group in found.items()} == {
        group: list(of_group) for group, of_group in KNOWN.items()
    }


@pytest.mark.parametrize("name", KNOWN["models"])
def test_models(name: str, found: dict[str, Any]) -> None:
    for what, known in KNOWN["models"][name].items():
        assert found["models"][name][what] == pytest.approx(known, rel=1e-4, abs=1e-5), what


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group in ("objectives", "numbers") for name in KNOWN[group]]
)
def test_numbers(group: str, name: str, found: dict[str, Any]) -> None:
    assert found[group][name] == pytest.approx(KNOWN[group][name], rel=1e-4, abs=1e-6)
