"""Where the nodes of a graph stand in a picture."""

import numpy as np
import numpy.typing as npt

from pfgnn.graphs.convert import to_networkx
from pfgnn.graphs.graph import Graph

Points = npt.NDArray[np.float64]

ON_A_CIRCLE = 60  # most vertices of a regular graph that stand on a circle


def place_nodes(graph: Graph) -> Points:
    """Positions of the nodes in the unit disc, [n, 2], without randomness.

    The nodes of a small regular graph stand on a circle. For other graphs a spring layout starts from the circle.
    """
    import networkx as nx

    n = graph.num_nodes
    angles = np.linspace(np.pi / 2, -3 * np.pi / 2, n, endpoint=False)
    circle: Points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if np.ptp(graph.degrees) == 0 and n <= ON_A_CIRCLE:
        return circle
    springs = nx.spring_layout(to_networkx(graph), pos=dict(enumerate(circle)), iterations=100, scale=None)
    points: Points = np.array([springs[node] for node in range(n)])
    points -= points.mean(axis=0)
    return points / np.linalg.norm(points, axis=1).max()
