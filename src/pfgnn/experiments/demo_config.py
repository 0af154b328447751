"""The settings of the demo. Needs no torch, so that a wrong setting is refused at once."""

from dataclasses import dataclass

from pfgnn.arguments import check_positive
from pfgnn.errors import InputError

LARGEST = 100_000  # steps, particles or updates that a demo may be asked for
SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)  # the ten classes of Murphy et al., ICML 2019


@dataclass(frozen=True)
class DemoConfig:
    """Everything the demo's numbers depend on."""

    seed: int = 0
    nodes: int = 41
    width: int = 32
    layers: int = 3
    steps: int = 2
    particles: int = 8
    updates: int = 150
    copies: int = 3  # relabelled copies of each class in a training batch
    learning_rate: float = 3e-3
    gamma: float = 0.1
    test_copies: int = 15  # of each class, fresh
    draws: int = 30  # outputs of a graph in a test of whether a pair is told apart
    control_sets: int = 4  # independent sets of such outputs a class: 6 isomorphic pairs each
    level: float = 1e-4  # of that test

    def __post_init__(self) -> None:
        for name in ("steps", "particles", "updates"):
            if check_positive(name, getattr(self, name)) > LARGEST:
                raise InputError(f"{name} must be at most {LARGEST} in the demo, but it is {getattr(self, name)}")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed must lie in 0..2**63 - 1, but it is {self.seed}")
