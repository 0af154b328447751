"""The ordered partition behind colour refinement, and one round of splitting it."""

import numpy as np

from pfgnn.graphs.arrays import Array, IntArray, ranges, run_starts


class Partition:
    """Ordered partitions of B copies of a graph, split together; vertex v of copy b is number b n + v.

    Args:
        indptr: where each vertex's arcs begin, [n + 1].
        indices: the vertex at the other end of each arc, [2 m].
        labels: the label of each arc, integers from 0, [2 m].
        colours: the starting colourings, integers, [B, n].

    Attributes:
        order: the vertices, the members of each cell side by side, [B n].
        position: where each vertex stands in `order`, [B n].
        colour: where each vertex's cell starts in `order`, [B n].
        size: number of members of the cell that starts at a position; without meaning elsewhere, [B n].
    """

    def __init__(self, indptr: IntArray, indices: IntArray, labels: IntArray, colours: Array) -> None:
        self.indptr, self.indices, self.labels = indptr, indices, labels
        self.degree = np.diff(indptr)
        self.num_labels = int(labels.max(initial=0)) + 1
        copies, self.num_nodes = colours.shape

        total = colours.size
        copy = np.repeat(np.arange(copies), self.num_nodes)
        given = colours.reshape(-1)
        self.order = np.lexsort((given, copy))
        starts = run_starts(copy[self.order], given[self.order])
        sizes = np.diff(starts, append=total)
        self.position = np.empty(total, dtype=np.int64)
        self.position[self.order] = np.arange(total)
        self.colour = np.empty(total, dtype=np.int64)
        self.colour[self.order] = np.repeat(starts, sizes)
        self.size = np.zeros(total, dtype=np.int64)
        self.size[starts] = sizes

    def cells(self) -> IntArray:
        """The starts of all cells, ascending."""
        return run_starts(self.colour[self.order])

    def split(self, splitters: IntArray) -> IntArray:
        """Split every cell by its members' numbers of arcs, per label, into each of the given cells.

        Only members with such an arc are touched. They move behind the others of their cell, which keep its colour.

        Args:
            splitters: starts of cells.

        Returns:
            The starts of the cells to split by next: of each cell that was split, all pieces but the largest.
            The arcs into the whole cell are even already, so those into the largest piece follow from the rest.
        """
        nodes, lengths, names = self._signatures(splitters)
        if not nodes.size:
            return nodes
        by_piece = np.lexsort((names, lengths, self.colour[nodes]))
        nodes = nodes[by_piece]
        cell = self.colour[nodes]
        piece = run_starts(cell, lengths[by_piece], names[by_piece])
        first = run_starts(cell)
        touched = np.diff(first, append=nodes.size)
        start = cell[first]
        rest = self.size[start] - touched
        place = self._move(nodes, first, touched, start + rest)

        born = place[piece]
        sizes = np.diff(piece, append=nodes.size)
        self.colour[nodes] = np.repeat(born, sizes)
        self.size[born] = sizes
        kept = start[rest > 0]
        self.size[kept] = rest[rest > 0]

        parent = np.concatenate([kept, cell[piece]])
        pieces = np.concatenate([kept, born])
        largest_first = np.lexsort((pieces, -self.size[pieces], parent))  # ties: the lowest colour
        others = np.ones(pieces.size, dtype=np.bool_)
        others[run_starts(parent[largest_first])] = False
        return pieces[largest_first][others]

    def _move(self, nodes: IntArray, first: IntArray, touched: IntArray, tail: IntArray) -> IntArray:
        """Move touched vertices to the tails of their cells; the vertices they push out take the places they leave.

        Args:
            nodes: the touched vertices, cell by cell, [t].
            first: where each cell begins in `nodes`, [c].
            touched: number of touched vertices of each cell, [c].
            tail: position at which the tail of each cell begins, [c].

        Returns:
            The new positions, [t].
        """
        shift = np.repeat(tail - first, touched)  # from places in `nodes` to positions
        place = np.arange(nodes.size) + shift
        old = self.position[nodes]
        stays = old >= np.repeat(tail, touched)  # the vertex stands in the tail already
        foreign = np.ones(nodes.size, dtype=np.bool_)
        foreign[(old - shift)[stays]] = False
        pushed, free = self.order[place[foreign]], old[~stays]
        self.order[free], self.position[pushed] = pushed, free
        self.order[place], self.position[nodes] = nodes, place
        return place

    def _signatures(self, splitters: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Describe the arcs that the members of larger cells have into the given cells.

        Returns:
            The vertices with such an arc, ascending, the number of distinct (splitter, label) pairs each sees,
            and a name for the list of (splitter, label, count): among lists of one length, equal lists have equal
            names, and names are ordered as the lists are. Each is [t].
        """
        members = self.order[ranges(splitters, self.size[splitters])]
        vertex = members % self.num_nodes
        degree = self.degree[vertex]
        arcs = ranges(self.indptr[vertex], degree)
        heads = self.indices[arcs] + np.repeat(members - vertex, degree)
        tokens = np.repeat(self.colour[members], degree)
        if self.num_labels > 1:
            tokens = _ranks(tokens * self.num_labels + self.labels[arcs])
        divisible = self.size[self.colour[heads]] > 1
        heads, tokens = heads[divisible], tokens[divisible]

        radix = tokens.max(initial=0) + 1
        keys = np.sort(heads * radix + tokens)
        run = run_starts(keys)
        counts = np.diff(run, append=keys.size)
        heads, tokens = np.divmod(keys[run], radix)
        tokens = tokens * (counts.max(initial=0) + 1) + counts
        first = run_starts(heads)
        lengths = np.diff(first, append=heads.size)
        return heads[first], lengths, _name_lists(tokens, first, lengths)


def _name_lists(tokens: IntArray, first: IntArray, lengths: IntArray) -> IntArray:
    """Name lists of integers by replacing neighbouring pairs with their ranks until one number is left.

    A list of odd length pairs its last token with itself; lists of one length are treated alike, and only
    their names compare.

    Args:
        tokens: the lists one after the other, each nonempty, [sum(lengths)].
        first: where each list begins, [t].
        lengths: how long each list is, [t].

    Returns:
        Names that are equal and ordered as the lists are, among lists of the same length, [t].
    """
    names = tokens[first]
    lists = np.flatnonzero(lengths > 1)  # those without a name
    first, lengths = first[lists], lengths[lists]
    while lists.size:
        ranks = _ranks(tokens)
        half = (lengths + 1) // 2
        begin = np.cumsum(half) - half
        left = np.repeat(first - 2 * begin, half) + 2 * np.arange(half.sum())
        right = np.minimum(left + 1, np.repeat(first + lengths - 1, half))
        tokens = ranks[left] * ranks.size + ranks[right]
        done = half == 1
        names[lists[done]] = tokens[begin[done]]
        lists, first, lengths = lists[~done], begin[~done], half[~done]
    return names


def _ranks(values: IntArray) -> IntArray:
    """Rank of each value among the sorted distinct values, [v]."""
    return np.unique(values, return_inverse=True)[1]
