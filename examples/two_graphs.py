"""Two graphs that 1-WL cannot tell apart: GIN gives both the same output, PF-GNN on GIN does not.

These two are hard: one marked vertex is not enough, two are. As a control, a graph is compared with a renumbered copy
of itself, which no model may tell from it. With a particle for every way to mark, the output has no randomness.
"""

import numpy as np
import torch
from torch import nn

from pfgnn import GIN, PFGNN, Graph
from pfgnn.graphs import is_isomorphic, rook, shrikhande, to_pyg, wl_equivalent


def distance(model: nn.Module, left: Graph, right: Graph) -> float:
    """The distance of a model's embeddings of two graphs, as a share of their norm."""
    with torch.no_grad():
        a, b = (model(to_pyg(graph)).embedding for graph in (left, right))
    return float((a - b).norm() / a.norm())


def main() -> dict[str, tuple[float, float]]:
    """Print and return for each model the distance of the two graphs, and that of two copies of one."""
    left, right = rook(4), shrikhande()  # both strongly regular: 16 vertices, 6 neighbours each
    copy = left.relabel(np.random.default_rng(0).permutation(16))
    print("the same to 1-WL:", wl_equivalent(left, right), "  isomorphic:", is_isomorphic(left, right))
    found = {}
    for name, steps in (("GIN", 0), ("PF-GNN, one mark", 1), ("PF-GNN, two marks", 2)):
        torch.manual_seed(0)
        model = PFGNN(GIN(32, layers=3), out_channels=1, steps=steps, particles=16**steps).double().eval()
        found[name] = distance(model, left, right), distance(model, left, copy)
        print(f"{name:>17}: different graphs {found[name][0]:.1e}, copies of one graph {found[name][1]:.1e}")
    return found


if __name__ == "__main__":
    main()
