"""Millions of random molecules, thousands at a time: the same kind as :func:`benchmarks.shapes.molecule`."""

import numpy as np

from benchmarks.shapes import ATOMS, BOND_SHARES, BONDS, DEGREE, LEAST, MOST, NODES, REACH, RINGS, SPREAD
from pfgnn.data import Dataset
from pfgnn.data.arrays import Array
from pfgnn.data.task import Task

AT_ONCE = 4096  # molecules that are made at the same time
ROUNDS = 100  # draws for the bonds that close rings; a molecule with more bonds than fit has some less


def many_molecules(count: int, seed: int, number: int, first: int) -> Dataset:
    """A dataset of random molecules, each with a random number to predict.

    Args:
        count: Number of molecules.
        seed: Seed of all random numbers.
        number: Number of this dataset. Datasets with other numbers have other molecules.
        first: Key of the first molecule. The others follow.
    """
    rng = np.random.default_rng([seed, number])
    parts = [_some(rng, min(AT_ONCE, count - begin)) for begin in range(0, count, AT_ONCE)]
    node_counts, edge_counts, edges, kinds = (np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
    return Dataset(
        "molecules",
        Task("graph", 1, "l1", "mae"),
        node_counts,
        edge_counts,
        edges,
        y=rng.normal(size=(count, 1)).astype(np.float32),
        x=rng.integers(ATOMS, size=(int(node_counts.sum(dtype=np.int64)), 1), dtype=np.uint8),
        edge_attr=kinds[:, None],
        key=np.arange(first, first + count),
        node_categories=(ATOMS,),
        edge_categories=(BONDS,),
    )


def _some(rng: np.random.Generator, count: int) -> tuple[Array, Array, Array, Array]:
    """Node counts [M] and edge counts [M] of M molecules, their edges [2, E], and the kind of each edge [E]."""
    n = np.clip(np.rint(rng.normal(NODES, SPREAD, count)), LEAST, MOST).astype(np.int64)
    molecule = np.arange(count)
    degree = np.zeros((count, MOST), dtype=np.int8)
    bonds = np.zeros((count, MOST, MOST), dtype=np.uint8)

    def join(chosen: Array, i: Array | int, j: Array) -> None:
        bonds[chosen, np.maximum(i, j), np.minimum(i, j)] = 1
        degree[chosen, i] += 1
        degree[chosen, j] += 1

    for i in range(1, MOST):  # a tree: each atom is joined to one of those before it
        chosen = molecule[n > i]
        begin = max(0, i - REACH)
        lots = rng.random((len(chosen), i - begin), dtype=np.float32)
        lots[degree[chosen, begin:i] >= DEGREE] = -1
        join(chosen, i, begin + lots.argmax(1))
    rings = rng.poisson(RINGS * n / NODES)
    for _ in range(ROUNDS):  # a bond that is not allowed is drawn again
        chosen = molecule[rings > 0]
        i, j = (rng.random((2, len(chosen))) * n[chosen]).astype(np.int64)
        free = (i != j) & (np.maximum(degree[chosen, i], degree[chosen, j]) < DEGREE)
        free &= bonds[chosen, np.maximum(i, j), np.minimum(i, j)] == 0
        join(chosen[free], i[free], j[free])
        rings[chosen[free]] -= 1
    low = np.flatnonzero(bonds)  # an array is faster to search through than three axes
    kinds = rng.choice(BONDS, size=len(low), p=BOND_SHARES).astype(np.uint8)
    bonds.reshape(-1)[low] = kinds  # no bond is of kind 0
    bonds |= bonds.transpose(0, 2, 1)
    place = np.flatnonzero(bonds)  # sorted by molecule, target, source
    edges = np.stack([place % MOST, place // MOST % MOST]).astype(np.uint8)
    edge_counts = 2 * np.bincount(low // MOST**2, minlength=count)
    return n.astype(np.uint8), edge_counts.astype(np.uint8), edges, bonds.reshape(-1)[place]
