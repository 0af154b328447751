"""The result of an exact search: the canonical labelling and the automorphism group of a graph."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pfgnn.graphs.arrays import IntArray, least_connected


class Move(NamedTuple):
    """A permutation, stored as the vertices that it moves: `vertices[i]` becomes `images[i]`, all others stay.

    Attributes:
        vertices: The vertices that are moved, shape [k].
        images: Their images, shape [k].
    """

    vertices: IntArray
    images: IntArray


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search.

    Attributes:
        labelling: The canonical labelling, a permutation, shape [n].
        moves: Automorphisms that generate the automorphism group.
        group_order: Number of automorphisms.
        nodes_visited: Number of nodes of the search tree that were visited. nauty does not report it and counts as 0.
    """

    labelling: IntArray
    moves: tuple[Move, ...]
    group_order: int
    nodes_visited: int

    @property
    def generators(self) -> IntArray:
        """Automorphisms that generate the group, one permutation per row, shape [g, n]."""
        rows = np.tile(np.arange(len(self.labelling)), (len(self.moves), 1))
        for row, move in zip(rows, self.moves, strict=True):
            row[move.vertices] = move.images
        return rows

    @property
    def orbits(self) -> IntArray:
        """The smallest vertex of each vertex's orbit, shape [n]."""
        none = np.zeros((2, 0), dtype=np.int64)
        pairs = np.concatenate([none, *map(np.stack, self.moves)], axis=1)  # vertices and images, [2, k]
        return least_connected(len(self.labelling), pairs.T)


def move_of(permutation: IntArray) -> Move:
    """A permutation [n] as a `Move`."""
    vertices = np.flatnonzero(permutation != np.arange(len(permutation)))
    return Move(vertices, permutation[vertices])


def exchanges(rows: IntArray) -> list[Move]:
    """Moves that generate all permutations of the rows: a swap of the first two, and a cyclic shift of all.

    Args:
        rows: Vertices, all different, shape [k, s].
    """
    swap = Move(rows[:2].ravel(), rows[1::-1].ravel())
    turn = Move(rows.ravel(), np.roll(rows, 1, axis=0).ravel())
    return {1: [], 2: [swap]}.get(len(rows), [swap, turn])
