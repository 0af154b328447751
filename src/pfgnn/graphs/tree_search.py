"""Depth-first search of the tree of colourings, pruned by node invariants and by automorphisms.

Each tree node has an invariant: the start positions of its cells, and the neighbours of one member of each cell. At a
leaf the invariant is the whole graph under the leaf's labelling. The trace of a node is the list of invariants on its
path from the root. The best leaf is the first leaf found that has the least trace. Its labelling is the canonical
labelling. Three rules prune the search:

- A node is skipped if its trace is greater than that of the best leaf so far.
- A leaf with the same trace as the best leaf gives an automorphism, which maps the best leaf to this leaf. It also maps
  one path to the other: an individualised vertex keeps its colour, so a leaf's colouring determines its path. Take the
  deepest node that both paths share. Its newer child is an image of its older child, which is explored already. So the
  search returns to the shared node.
- Of the vertices to individualise at a node, only one vertex of each orbit is tried. The orbits are those of the known
  automorphisms that fix the node's path.

The least trace is found: a part that is skipped has no leaf with it, or is an image of a part that was explored
earlier.

The automorphisms found generate the whole group. Take a node on the best leaf's path, and an automorphism that fixes
this node and maps its child on the path to a sibling. Then a leaf with the least trace is also below the sibling. The
best leaf is the first such leaf, so the sibling comes after the child. The sibling's trace is never greater than that
of the best leaf. So it is explored until an automorphism links it to the child, unless known automorphisms link it
already. Hence the orbit of the child under the known automorphisms that fix the node is complete. The group order is
the product of the sizes of these orbits along the path.
"""

from collections.abc import Iterator

import numpy as np

from pfgnn.graphs.arrays import IntArray, ranges
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.refinement import edge_labels
from pfgnn.graphs.search_result import SearchResult, move_of
from pfgnn.graphs.tree import SearchTree, TreeNode


def explore(graph: Graph) -> SearchResult:
    """Find the canonical labelling and the automorphism group of a graph with its search tree, without other rules."""
    return _Explorer(graph).run()


class _Explorer:
    """The state of one search."""

    def __init__(self, graph: Graph) -> None:
        self.tree = SearchTree(graph)
        self.num_nodes = graph.num_nodes
        self.indptr, self.indices, edge_ids = graph.neighbours
        self.degree = graph.degrees
        self.labels = edge_labels(graph)[edge_ids]  # [2 m]
        self.num_labels = int(self.labels.max(initial=0)) + 1

        self.generators = np.zeros((0, self.num_nodes), dtype=np.int64)  # [g, n]
        self.visited = 0
        # The current path: the invariants of its nodes, and the children still to try at each of its inner nodes.
        self.trace: list[bytes] = []
        self.stack: list[Iterator[TreeNode]] = []
        self.best = self.tree.root
        self.best_trace: list[bytes] = []  # empty until the first leaf

    def run(self) -> SearchResult:
        self._visit(self.tree.root)
        while self.stack:
            child = next(self.stack[-1], None)
            if child is None:
                self.stack.pop()
            else:
                self._visit(child)
        moves = tuple(move_of(generator) for generator in self.generators)
        return SearchResult(self.best.colours, moves, self._group_order(), self.visited)

    def _visit(self, node: TreeNode) -> None:
        self.visited += 1
        del self.trace[len(node.path) :]
        self.trace.append(self._invariant(node.colours))
        if self.best_trace and self.trace > self.best_trace[: len(self.trace)]:
            return
        if not node.is_leaf:
            self.stack.append(self._children(node))
        elif self.trace != self.best_trace:
            self.best, self.best_trace = node, self.trace.copy()
        else:
            automorphism = np.argsort(node.colours)[self.best.colours]
            self.generators = np.vstack([self.generators, automorphism])
            del self.stack[_shared(self.best.path, node.path) + 1 :]

    def _children(self, node: TreeNode) -> Iterator[TreeNode]:
        """One child for each orbit, for its smallest vertex. Uses the automorphisms known when the child is reached."""
        # Automorphisms found below the first child often make other children unnecessary. So the others are refined
        # only after it, in one batch.
        yield from self.tree.descend(node, node.target[:1])
        least = np.unique(self._orbits(node.path)[node.target])[1:]
        for child in self.tree.descend(node, least):
            vertex = child.path[-1]
            if self._orbits(node.path)[vertex] == vertex:
                yield child

    def _orbits(self, path: tuple[int, ...]) -> IntArray:
        """Orbits of the known automorphisms that fix every vertex of the path, shape [n]."""
        fixes = (self.generators[:, path] == path).all(axis=1)
        return _orbits_under(self.generators[fixes], self.num_nodes)

    def _invariant(self, colours: IntArray) -> bytes:
        """Start positions of the cells, and the sorted (colour, edge label) of the neighbours of one member of each."""
        starts, member = np.unique(colours, return_index=True)
        degree = self.degree[member]
        arcs = ranges(self.indptr[member], degree)
        seen = colours[self.indices[arcs]] * self.num_labels + self.labels[arcs]
        rows = np.repeat(np.arange(starts.size), degree) * (self.num_nodes * self.num_labels) + seen
        return np.concatenate([[starts.size], starts, np.sort(rows)]).astype("<i8").tobytes()

    def _group_order(self) -> int:
        order = 1
        for depth, vertex in enumerate(self.best.path):
            orbits = self._orbits(self.best.path[:depth])
            order *= int(np.count_nonzero(orbits == orbits[vertex]))
        return order


def _orbits_under(generators: IntArray, num_nodes: int) -> IntArray:
    """The smallest node of each node's orbit [n] under the group that the permutations [g, n] generate."""
    least = np.arange(num_nodes)
    while True:
        lesser = np.minimum(least, least[generators].min(axis=0, initial=num_nodes))
        lesser = lesser[lesser]  # the entry of that node may be smaller still
        if np.array_equal(lesser, least):
            return least
        least = lesser


def _shared(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """Length of the longest common prefix of two different paths of the same length."""
    return next(depth for depth, (u, v) in enumerate(zip(left, right, strict=True)) if u != v)
