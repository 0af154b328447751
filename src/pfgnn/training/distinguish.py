"""Does a random model tell two graphs apart? Never a matter of comparing two draws.

A stochastic model gives different outputs to any two graphs, two copies of the same one included. So two graphs are
told apart only where many fresh draws of their outputs differ by more than draws of one graph do.
"""

import numpy as np
import numpy.typing as npt

Outputs = npt.NDArray[np.float64]


def told_apart(
    first: Outputs, second: Outputs, rng: np.random.Generator, permutations: int = 9999, tolerance: float = 1e-4
) -> bool:
    """A permutation test of the distance of the mean outputs, at level 1 / (1 + permutations).

    The graphs are told apart if no random regrouping of the draws has means as far apart as the true grouping, and
    the distance exceeds the rounding error of a deterministic model, ``tolerance`` relative to the outputs' size.

    Args: first, second: R independent outputs of each graph, relabelled afresh for each draw, [R, C].
    """
    both = np.concatenate([first, second])  # [2 R, C]
    grouping = np.repeat([1 / len(first), -1 / len(second)], [len(first), len(second)])
    observed = np.linalg.norm(grouping @ both)
    if observed <= tolerance * np.abs(both).max():
        return False
    regrouped = rng.permuted(np.tile(grouping, (permutations, 1)), axis=1)
    return bool(np.linalg.norm(regrouped @ both, axis=1).max() < observed)
