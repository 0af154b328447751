"""What says how the tests are run: slow cases, and a random order."""

import random
from collections.abc import Sequence
from typing import Any

import pytest


def slow(*case: object) -> Any:
    """A case of a parametrised test that `make check` leaves out."""
    return pytest.param(*case, marks=pytest.mark.slow)


def shuffled(tests: Sequence[pytest.Item], seed: int) -> list[pytest.Item]:
    """The tests in an order that follows from the seed. Those of a file stay together, for they may share a fixture."""
    files: dict[str, list[pytest.Item]] = {}
    for test in tests:
        files.setdefault(test.nodeid.split("::")[0], []).append(test)
    chance = random.Random(seed)
    order = [chance.sample(of_file, len(of_file)) for of_file in files.values()]
    chance.shuffle(order)
    return [test for of_file in order for test in of_file]
