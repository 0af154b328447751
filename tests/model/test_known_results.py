"""Models with known weights predict what they predicted before, so that a trained model keeps its meaning.

The numbers of the file were written by this code. If a change of the method is wanted, they are written anew.
"""

import json
from typing import Any

import pytest
from tests.model.known_results import FILE, computations

KNOWN = json.loads(FILE.read_text())
COMPUTED = computations()


def test_the_names_are_the_same() -> None:
    assert list(COMPUTED) == list(KNOWN)


@pytest.mark.parametrize("name", COMPUTED)
def test_the_result_is_that_of_before(name: str) -> None:
    found: Any = COMPUTED[name]()
    if not isinstance(found, dict):
        assert found == pytest.approx(KNOWN[name], rel=1e-4, abs=1e-6)
        return
    assert found.keys() == KNOWN[name].keys()
    for what, known in KNOWN[name].items():
        assert found[what] == pytest.approx(known, rel=1e-4, abs=1e-5), what
