"""Depth-first search of the tree of colourings, pruned by node invariants and by automorphisms.

Each tree node has an invariant: the starts of its cells and the neighbours that one member of each cell has. At a
leaf it is the whole graph under the leaf's labelling. A leaf's trace is the list of invariants on its path, and the
canonical labelling is that of the best leaf: the first one found with the least trace. Three rules prune the search:

- A node is skipped if its trace is greater than that of the best leaf so far.
- A leaf as good as the best differs from it by an automorphism, which maps one path to the other: an individualised
  vertex keeps its colour, so a leaf's colouring determines its path. Below the deepest node that the paths share, the
  newer child is thus an image of the older one, which has been explored; the search returns there.
- Of the vertices to individualise at a node, one in each orbit of the known automorphisms that fix its path is tried.

Whatever is skipped holds no leaf with the least trace, or is an image of something explored earlier, so the least
trace is found. The automorphisms found generate the whole group: let an automorphism that fixes a node of the best
leaf's path map that path's child to a sibling. The sibling holds a leaf with the least trace too, so it comes after
the child, or the best leaf would be there. Never worse than the best, it is explored until an automorphism links it
to the child, unless known ones link it already. Hence the orbit of the child under the known automorphisms that fix
the node is complete, and the group order is the product of the sizes of these orbits along the path.
"""

from collections.abc import Iterator

import numpy as np

from pfgnn.graphs.arrays import IntArray, ranges
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.refinement import edge_labels
from pfgnn.graphs.symmetry import Search, move_of
from pfgnn.graphs.tree import SearchTree, TreeNode


def explore(graph: Graph) -> Search:
    """Find the canonical labelling and the automorphism group of a graph, by its search tree alone."""
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
        # The current path: its nodes' invariants, and the children still to try at each of its inner nodes.
        self.trace: list[bytes] = []
        self.stack: list[Iterator[TreeNode]] = []
        self.best = self.tree.root
        self.best_trace: list[bytes] = []  # empty until the first leaf

    def run(self) -> Search:
        self._visit(self.tree.root)
        while self.stack:
            child = next(self.stack[-1], None)
            if child is None:
                self.stack.pop()
            else:
                self._visit(child)
        moves = tuple(move_of(generator) for generator in self.generators)
        return Search(self.best.colours, moves, self._group_order(), self.visited)

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
        """The child of the least vertex of each orbit, by the automorphisms known when its turn comes."""
        # What the first child teaches often spares the others, so they are refined, together, only after it.
        yield from self.tree.descend(node, node.target[:1])
        least = np.unique(self._orbits(node.path)[node.target])[1:]
        for child in self.tree.descend(node, least):
            vertex = child.path[-1]
            if self._orbits(node.path)[vertex] == vertex:
                yield child

    def _orbits(self, path: tuple[int, ...]) -> IntArray:
        """Orbits of the known automorphisms that fix every vertex of the path, [n]."""
        fixes = (self.generators[:, path] == path).all(axis=1)
        return _orbits_under(self.generators[fixes], self.num_nodes)

    def _invariant(self, colours: IntArray) -> bytes:
        """The starts of the cells and the sorted (colour, edge label) of one member's neighbours for each."""
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
    """The least node of each node's orbit under the group that the permutations [g, n] generate, [n]."""
    least = np.arange(num_nodes)
    while True:
        lesser = np.minimum(least, least[generators].min(axis=0, initial=num_nodes))
        lesser = lesser[lesser]  # the least node known so far may itself know a lesser one
        if np.array_equal(lesser, least):
            return least
        least = lesser


def _shared(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """Length of the longest common prefix of two different paths of one length."""
    return next(depth for depth, (u, v) in enumerate(zip(left, right, strict=True)) if u != v)
