"""Predict vertices: does a vertex lie in a triangle?

All graphs are random and 3-regular, so to 1-WL all vertices look alike, and GIN alone guesses.
"""

import numpy as np
import torch
from torch import nn

from pfgnn import GIN, PFGNN
from pfgnn.data import Dataset, Loader, Task
from pfgnn.graphs import Graph, random_regular


def in_triangle(graph: Graph) -> list[int]:
    """1 for each vertex that lies in a triangle, else 0."""
    adjacency = np.zeros((graph.num_nodes, graph.num_nodes), dtype=np.int64)
    adjacency[tuple(graph.edges.T)] = 1
    adjacency += adjacency.T
    return (np.diag(adjacency @ adjacency @ adjacency) > 0).astype(int).tolist()


def main() -> dict[str, float]:
    """Train GIN and PF-GNN on GIN, and print and return their balanced test accuracies."""
    rng = np.random.default_rng(0)
    graphs = [random_regular(10, 3, rng) for _ in range(120)]
    labels = np.array([label for graph in graphs for label in in_triangle(graph)])
    data = Dataset.from_graphs(graphs, labels, Task("node", 2, "cross_entropy", "accuracy"))
    train, test = np.arange(80), np.arange(80, 120)
    found = {}
    for name, steps in (("GIN", 0), ("PF-GNN on GIN", 1)):
        torch.manual_seed(0)
        model = PFGNN(GIN(32, layers=2, norm="mark"), out_channels=2, steps=steps, particles=10, level="node")
        optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
        for _ in range(6):
            for batch in Loader(data, train, batch_size=16, shuffle=True):
                assert batch.y is not None  # the labels of all vertices of the batch, [N, 1]
                loss = nn.functional.cross_entropy(model(batch).prediction, batch.y.flatten())
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        model.eval()
        [batch] = Loader(data, test, batch_size=len(test))
        assert batch.y is not None
        wanted = batch.y.flatten()
        with torch.no_grad():
            right = model(batch).prediction.argmax(1) == wanted
        found[name] = float(np.mean([right[wanted == label].double().mean() for label in (0, 1)]))
        print(f"{name:>14}: {found[name]:.0%} of the test vertices are right, as a mean of both classes")
    return found


if __name__ == "__main__":
    main()
