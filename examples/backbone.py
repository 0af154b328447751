"""Your own GNN as a backbone: a plain PyG model, the asserts that it should pass, and what PF-GNN adds to it."""

import torch
from torch import Tensor, nn
from torch_geometric.nn import GraphConv

from pfgnn import PFGNN
from pfgnn.graphs import circulant, disjoint_union, to_pyg
from pfgnn.testing import assert_batch_independent, assert_chunk_independent, assert_relabelling_invariant


class Own(nn.Module):
    """Three layers with residuals. Input and output have the same width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GraphConv(width, width) for _ in range(3))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """x [N, D] and edge_index [2, E] -> [N, D]."""
        for layer in self.layers:
            x = x + torch.tanh(layer(x, edge_index))
        return x


def main() -> dict[str, float]:
    """Check the backbone, and print and return how far two graphs are apart without and with particles."""
    torch.manual_seed(0)
    ring = to_pyg(circulant(8, [1]))
    two = to_pyg(disjoint_union(circulant(4, [1]), circulant(4, [1])))
    found = {}
    for name, steps in (("own GNN", 0), ("PF-GNN on it", 1)):
        model = PFGNN(Own(16), out_channels=1, steps=steps, particles=8, width=16).double().eval()
        none = torch.zeros(8, 0, dtype=torch.float64)  # the graphs have no features
        assert_relabelling_invariant(model, none, ring.edge_index)
        assert_batch_independent(model, [(none, ring.edge_index, None), (none, two.edge_index, None)])
        assert_chunk_independent(model, none, ring.edge_index)
        with torch.no_grad():
            found[name] = float((model(ring).embedding - model(two).embedding).norm() / model(ring).embedding.norm())
        print(f"{name:>12}: one ring of 8 and two rings of 4 differ by {found[name]:.1e}")
    return found


if __name__ == "__main__":
    main()
