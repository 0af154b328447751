"""What says how the tests are run: slow cases, and a random order."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch

# torch 2.11 stops with errors of its own, see docs/pyg.md.
needs_torch_2_13 = pytest.mark.skipif(
    tuple(int(number) for number in torch.__version__.split(".")[:2]) < (2, 13), reason="it needs torch 2.13"
)


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
