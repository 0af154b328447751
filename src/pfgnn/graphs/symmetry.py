"""What an exact search finds: the canonical labelling and the automorphism group of a graph."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pfgnn.graphs.arrays import IntArray, least_connected


class Move(NamedTuple):
    """A permutation, by the vertices that it moves: `vertices[i]` becomes `images[i]`, all others stay.

    Attributes:
        vertices: the vertices, [k].
        images: what they become, [k].
    """

    vertices: IntArray
    images: IntArray


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found.

    Attributes:
        labelling: the canonical labelling, a permutation [n].
        moves: automorphisms that generate the group.
        group_order: number of automorphisms.
        nodes_visited: number of nodes of the search tree that were visited; nauty does not tell, and adds 0.
    """

    labelling: IntArray
    moves: tuple[Move, ...]
    group_order: int
    nodes_visited: int

    @property
    def generators(self) -> IntArray:
        """Automorphisms that generate the group, one permutation a row, [g, n]."""
        rows = np.tile(np.arange(len(self.labelling)), (len(self.moves), 1))
        for row, move in zip(rows, self.moves, strict=True):
            row[move.vertices] = move.images
        return rows

    @property
    def orbits(self) -> IntArray:
        """The least vertex of each vertex's orbit, [n]."""
        none = np.zeros((2, 0), dtype=np.int64)
        pairs = np.concatenate([none, *map(np.stack, self.moves)], axis=1)  # vertices and images, [2, k]
        return least_connected(len(self.labelling), pairs.T)


def move_of(permutation: IntArray) -> Move:
    """The move that a permutation [n] makes."""
    vertices = np.flatnonzero(permutation != np.arange(len(permutation)))
    return Move(vertices, permutation[vertices])


def exchanges(rows: IntArray) -> list[Move]:
    """Moves that generate all permutations of the rows: the first swaps two of them, the second turns all by one place.

    Args:
        rows: vertices, all different, [k, s].
    """
    swap = Move(rows[:2].ravel(), rows[1::-1].ravel())
    turn = Move(rows.ravel(), np.roll(rows, 1, axis=0).ravel())
    return {1: [], 2: [swap]}.get(len(rows), [swap, turn])
