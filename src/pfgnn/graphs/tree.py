"""The search tree of colourings from section 3.1 of the paper, enumerated exactly."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pfgnn.argument_checks import checked
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.refinement import refine, refine_many

TargetCell: TypeAlias = Callable[[IntArray], IntArray]


@checked
def first_cell(colours: IntArray) -> IntArray:
    """The vertices of the first cell with at least two members. Empty if `colours` [n] is discrete."""
    cells, _ = _open_cells(colours)
    return np.flatnonzero(colours == cells[0]) if cells.size else cells


@checked
def smallest_cell(colours: IntArray) -> IntArray:
    """The vertices of the first of the smallest cells with at least two members. Empty if `colours` [n] is discrete."""
    cells, sizes = _open_cells(colours)
    return np.flatnonzero(colours == cells[sizes.argmin()]) if cells.size else cells


@checked
def largest_cell(colours: IntArray) -> IntArray:
    """The vertices of the first of the largest cells with at least two members. Empty if `colours` [n] is discrete."""
    cells, sizes = _open_cells(colours)
    return np.flatnonzero(colours == cells[sizes.argmax()]) if cells.size else cells


@checked
def individualise(colours: IntArray, vertices: IntArray) -> IntArray:
    """Individualise vertices: the vertex keeps its colour, and the colour of the rest of its cell grows by 1.

    Args:
        colours: A colouring. Each colour is the start position of a cell, shape [n].
        vertices: The vertices to individualise. Each one gives a colouring of its own, shape [B].

    Returns:
        One colouring for each vertex, shape [B, n].
    """
    cell = colours[vertices][:, None]  # [B, 1]
    return colours + ((colours == cell) & (np.arange(len(colours)) != vertices[:, None]))  # [B, n]


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A node of the search tree.

    Attributes:
        colours: Its equitable colouring, shape [n].
        path: The vertices individualised on the path from the root.
        target: The vertices of the target cell, ascending. Empty at a leaf.
    """

    colours: IntArray
    path: tuple[int, ...]
    target: IntArray

    @property
    def is_leaf(self) -> bool:
        """Whether the colouring is discrete."""
        return self.target.size == 0

    @property
    def cells(self) -> list[list[int]]:
        """The vertices of each cell, in the order of the colours."""
        order = np.argsort(self.colours, kind="stable")
        ends = np.flatnonzero(np.diff(self.colours[order])) + 1
        return [cell.tolist() for cell in np.split(order, ends)]


class SearchTree:
    """The search tree: its root is the 1-WL colouring, and each child individualises one vertex of the target cell.

    The size of the tree can be exponential in the number of vertices. The iterators below visit its nodes one by one.

    Args:
        graph: The graph.
        target_cell: Picks the vertices of the target cell from a colouring. It must depend on the colours only.
    """

    def __init__(self, graph: Graph, target_cell: TargetCell = smallest_cell) -> None:
        self.graph = graph
        self.target_cell = target_cell
        self.root = self._node(refine(graph), ())

    def children(self, node: TreeNode) -> list[TreeNode]:
        """One child for each vertex of the target cell, in the order of the vertices. Empty at a leaf."""
        return self.descend(node, node.target)

    def descend(self, node: TreeNode, vertices: IntArray) -> list[TreeNode]:
        """The children for the given vertices [B] of the target cell, refined in one batch."""
        colours = refine_many(self.graph, individualise(node.colours, vertices))  # [B, n]
        return [self._node(row, (*node.path, int(v))) for row, v in zip(colours, vertices, strict=True)]

    def walk(self, max_depth: int | None = None) -> Iterator[TreeNode]:
        """All nodes down to `max_depth`, level by level, and within a level in the order of their paths."""
        queue = deque([self.root])
        while queue:
            node = queue.popleft()
            yield node
            if max_depth is None or len(node.path) < max_depth:
                queue.extend(self.children(node))

    def leaves(self) -> Iterator[TreeNode]:
        """All nodes with a discrete colouring."""
        return (node for node in self.walk() if node.is_leaf)

    def levels(self, depth: int) -> list[list[TreeNode]]:
        """The nodes at depth 0, 1, ..., `depth`. Levels below the deepest leaf are empty."""
        levels = [[self.root]]
        for _ in range(depth):
            levels.append([child for node in levels[-1] for child in self.children(node)])
        return levels

    def to_text(self, max_depth: int | None = None) -> str:
        """The tree as text, depth first: each line has the vertex individualised last, then the cells."""
        lines = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            depth = len(node.path)
            step = f"{node.path[-1]}: " if node.path else ""
            cells = " | ".join(" ".join(map(str, cell)) for cell in node.cells)
            lines.append(f"{'  ' * depth}{step}{cells}")
            if max_depth is None or depth < max_depth:
                stack.extend(reversed(self.children(node)))
        return "\n".join(lines)

    def _node(self, colours: IntArray, path: tuple[int, ...]) -> TreeNode:
        colours.setflags(write=False)
        return TreeNode(colours, path, self.target_cell(colours))


def _open_cells(colours: IntArray) -> tuple[IntArray, IntArray]:
    """Colours and sizes of the cells with at least two members, in the order of the colours."""
    sizes = np.bincount(colours)
    cells = np.flatnonzero(sizes > 1)
    return cells, sizes[cells]
