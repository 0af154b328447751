"""Which nodes of a search tree are drawn, so that the picture of a large tree can be read."""

from typing import NamedTuple

import numpy as np

from pfgnn.graphs.refinement import colouring_certificate
from pfgnn.graphs.tree import SearchTree, TreeNode

MOST_LEVELS = 8  # below the root
MOST_COLOURED = 300_000  # vertices that are coloured, in all children of a node, to compare them


class Drawn(NamedTuple):
    """A node of the picture.

    Fields:
        node: The node of the tree.
        alike: Number of children of its parent that it stands for. Their colourings look the same but for the numbers
            of the vertices. 1 if all children are drawn.
        hidden: Number of further children of its parent that are not drawn, counted at the last child that is drawn.
    """

    node: TreeNode
    alike: int = 1
    hidden: int = 0


def choose_nodes(tree: SearchTree, depth: int, widest: int) -> list[list[Drawn]]:
    """The nodes to draw, level by level from the root.

    A level is drawn completely if it has at most ``widest`` nodes. Otherwise children that look alike are drawn once.
    There are no levels below the deepest leaf, and never more than ``MOST_LEVELS``.

    Args:
        tree: The search tree.
        depth: Last level to draw.
        widest: Most nodes of a level.
    """
    levels = [[Drawn(tree.root)]]
    for _ in range(min(depth, MOST_LEVELS)):
        above = [drawn.node for drawn in levels[-1] if not drawn.node.is_leaf]
        if not above:
            break
        if sum(node.target.size for node in above) <= widest:
            levels.append([Drawn(child) for node in above for child in tree.children(node)])
        else:
            share = max(1, widest // len(above))
            levels.append([drawn for node in above for drawn in _kinds(tree, node, share)])
    return levels


def _kinds(tree: SearchTree, node: TreeNode, most: int) -> list[Drawn]:
    """One child of each kind, at most ``most`` kinds."""
    kinds: dict[bytes, list[TreeNode]] = {}
    tried = node.target[: MOST_COLOURED // tree.graph.num_nodes]
    for child in tree.descend(node, tried):
        kinds.setdefault(colouring_certificate(tree.graph, child.colours), []).append(child)
    chosen = [Drawn(children[0], len(children)) for children in kinds.values()][:most]
    hidden = node.target.size - int(np.sum([drawn.alike for drawn in chosen]))
    return [*chosen[:-1], chosen[-1]._replace(hidden=hidden)]
