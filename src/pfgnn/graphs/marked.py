"""What 1-WL sees after some vertices are individualised, over all choices of vertices."""

import hashlib

import numpy as np

from pfgnn.argument_checks import checked
from pfgnn.errors import InputError
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.refinement import colouring_certificate, refine, refine_many
from pfgnn.graphs.tree import individualise

MOST_PATHS = 5_000  # more paths take too long


@checked
def marked_certificate(graph: Graph, steps: int) -> bytes:
    """Bytes that are equal for two graphs if they look alike in all choices of ``steps`` vertices, one after another.

    Each choice gives a refined colouring. The bytes describe the multiset of these colourings. If they differ, a
    PF-GNN with T = ``steps`` and enough particles can tell the graphs apart.

    Args:
        graph: The graph. It must have at most 5,000 choices, n ** steps.
        steps: T, number of vertices that are individualised.
    """
    if graph.num_nodes**steps > MOST_PATHS:
        raise InputError(
            f"graph must have at most {MOST_PATHS} choices of {steps} vertices, but it has {graph.num_nodes} vertices"
        )
    colours = refine(graph)[None]  # [paths, n]
    vertices = np.arange(graph.num_nodes)
    for _ in range(steps):
        colours = np.concatenate([refine_many(graph, individualise(row, vertices)) for row in colours])
    seen = sorted(hashlib.sha256(colouring_certificate(graph, row)).digest() for row in colours)
    return hashlib.sha256(b"".join(seen)).digest()
