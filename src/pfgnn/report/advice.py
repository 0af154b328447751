"""Which T and K a dataset needs, and what they cost."""

from collections.abc import Mapping
from dataclasses import dataclass

TRAINING_PARTICLES = 16  # as in the configs ours/
MOST_EXACT = 1024  # paths that a test can still go through one by one
TEST_PARTICLES = 128  # if there are more paths, as in the configs ours/
LAYERS, STEP_LAYERS = 1, 4  # before the first mark and after each one, as in the configs ours/


@dataclass(frozen=True)
class Advice:
    """Settings for PF-GNN.

    Args:
        needed: Whether there are pairs of graphs that a 1-WL GNN cannot tell apart.
        steps: T, number of vertices to mark one after another.
        enough: Whether this T tells all pairs apart that were tried.
        particles: K in training.
        test_particles: K in the test.
        exact: Whether the test then goes through all choices of vertices, so that a prediction has no randomness.
        cost: Operations of a training step, in those of a plain GNN with as many layers.
        test_cost: The same for a prediction.
    """

    needed: bool
    steps: int
    enough: bool
    particles: int
    test_particles: int
    exact: bool
    cost: float
    test_cost: float


def advise(pairs: int, told_apart: Mapping[int, tuple[int, int]], most_nodes: int) -> Advice:
    """Settings that tell all pairs apart, as far as that is known.

    Args:
        pairs: Number of pairs of graphs that 1-WL cannot tell apart.
        told_apart: For each T, the number of pairs that it tells apart, and the number of pairs that were tried.
        most_nodes: Vertices of the largest graph.
    """
    tried = max((of for _, of in told_apart.values()), default=0)
    steps = next((T for T, (told, of) in told_apart.items() if told == of == tried), max(told_apart, default=1))
    enough = pairs == 0 or told_apart.get(steps, (0, 1)) == (tried, tried)
    paths = most_nodes**steps
    exact = paths <= MOST_EXACT
    particles, test_particles = min(TRAINING_PARTICLES, paths), paths if exact else TEST_PARTICLES
    return Advice(
        needed=pairs > 0,
        steps=steps,
        enough=enough,
        particles=particles,
        test_particles=test_particles,
        exact=exact,
        cost=_cost(steps, particles),
        test_cost=_cost(steps, test_particles),
    )


def _cost(steps: int, particles: int) -> float:
    """Operations in those of a plain GNN with as many layers: all particles share the layers before the first mark."""
    return (LAYERS + STEP_LAYERS * steps * particles) / (LAYERS + STEP_LAYERS * steps)
