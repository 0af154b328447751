"""The ordered partition used by colour refinement, and one round of splitting its cells."""

import numpy as np

from pfgnn.graphs.arrays import Array, IntArray, ranges, run_starts


class Partition:
    """Ordered partitions of B copies of a graph, which are split together. Vertex v of copy b has number b n + v.

    Args:
        indptr: First arc of each vertex, shape [n + 1].
        indices: Vertex at the other end of each arc, shape [2 m].
        labels: Label of each arc, integers from 0, shape [2 m].
        colours: Colourings to start from, integers, shape [B, n].

    Attributes:
        order: All vertices, with the members of each cell next to each other, shape [B n].
        position: Position of each vertex in `order`, shape [B n].
        colour: Position in `order` at which each vertex's cell starts, shape [B n].
        size: Size of the cell that starts at each position, shape [B n]. Entries at other positions have no meaning.
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
        """The start positions of all cells, ascending."""
        return run_starts(self.colour[self.order])

    def split(self, splitters: IntArray) -> IntArray:
        """Split every cell by the number of arcs of each label that its members have into each of the given cells.

        Only members with such an arc are touched. They move behind the other members, which keep the cell's colour.

        Args:
            splitters: Start positions of the cells to split by.

        Returns:
            Start positions of the cells to split by next. From each cell that was split, these are all pieces except
            the largest. The members of any cell now have equally many arcs into the whole cell that was split, so the
            numbers of arcs into the largest piece follow from those into the other pieces.
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
        largest_first = np.lexsort((pieces, -self.size[pieces], parent))  # of equal sizes, the lowest colour is first
        others = np.ones(pieces.size, dtype=np.bool_)
        others[run_starts(parent[largest_first])] = False
        return pieces[largest_first][others]

    def _move(self, nodes: IntArray, first: IntArray, touched: IntArray, tail: IntArray) -> IntArray:
        """Move touched vertices to the tails of their cells. Vertices that they displace take the free positions.

        Args:
            nodes: Touched vertices, cell by cell, shape [t].
            first: Index in `nodes` of the first vertex of each cell, shape [c].
            touched: Number of touched vertices of each cell, shape [c].
            tail: Position in `order` at which the tail of each cell begins, shape [c].

        Returns:
            New positions of the touched vertices in `order`, shape [t].
        """
        shift = np.repeat(tail - first, touched)  # from an index in `nodes` to a position in `order`
        place = np.arange(nodes.size) + shift
        old = self.position[nodes]
        stays = old >= np.repeat(tail, touched)  # the vertex is already in the tail
        foreign = np.ones(nodes.size, dtype=np.bool_)
        foreign[(old - shift)[stays]] = False
        pushed, free = self.order[place[foreign]], old[~stays]
        self.order[free], self.position[pushed] = pushed, free
        self.order[place], self.position[nodes] = nodes, place
        return place

    def _signatures(self, splitters: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Describe the arcs into the given cells that start at members of cells with at least two members.

        Returns:
            Three arrays of shape [t]. The first holds the vertices with such an arc, ascending. The second holds the
            number of distinct (splitter, label) pairs among the arcs of each vertex. The third holds an integer name
            for the list of (splitter, label, count) of each vertex. Among lists of the same length, names are equal
            if and only if the lists are equal, and names have the same order as the lists.
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
    """Name lists of integers: replace each pair of adjacent tokens with one number until one number is left.

    If the length is odd, the last token is paired with itself. Only names of lists of the same length can be compared.

    Args:
        tokens: The lists one after another, none of them empty, shape [sum(lengths)].
        first: Index in `tokens` at which each list begins, shape [t].
        lengths: Length of each list, shape [t].

    Returns:
        Names of the lists, shape [t]. Among lists of the same length, names are equal if and only if the lists are
        equal, and names have the same order as the lists.
    """
    names = tokens[first]
    lists = np.flatnonzero(lengths > 1)  # the lists without a final name
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
    """Rank of each value among the sorted distinct values, shape [v]."""
    return np.unique(values, return_inverse=True)[1]
