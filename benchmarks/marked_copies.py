"""The baseline of our method: K copies of each graph, each with a marked vertex, run eagerly with PyG's layers.

The model is that of the configs `ours/`: distinct vertices, marks by distance, exchange in every layer, a readout of
each copy. As in :mod:`benchmarks.baseline` everything is computed for all copies, but nothing is slow on purpose.
"""

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv, GINEConv, global_add_pool

from benchmarks.baseline import Copies, copy_batch
from pfgnn.data.batch import GraphBatch
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.model_inputs import Inputs
from pfgnn.model.features import encoder


def mlp(width: int, hidden: int) -> nn.Sequential:
    """Two linear maps with a relu between them."""
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))


class MarkedLayer(nn.Module):
    """h ← h + relu(norm(conv(h) + A(mean over copies) + B(h of the mark))), then h ← norm(h + MLP(h)).

    Args:
        width: D.
        edges: Whether edge features are used.
        exchange: Whether the copies exchange their mean and their mark.
    """

    def __init__(self, width: int, edges: bool, exchange: bool) -> None:
        super().__init__()
        inner = mlp(width, width)
        self.conv = GINEConv(inner, train_eps=True, edge_dim=width) if edges else GINConv(inner, train_eps=True)
        self.norm, self.last_norm = nn.BatchNorm1d(width, eps=1e-2), nn.BatchNorm1d(width, eps=1e-2)
        self.of_mean, self.of_mark = (mlp(width, width) if exchange else None for _ in range(2))
        self.hidden = mlp(width, 2 * width)

    def forward(self, h: Tensor, copies: Copies, edge: Tensor | None, v: Tensor | None) -> Tensor:
        """h [K N, D], edge [K E, D], the marked vertices v [K G] -> [K N, D]."""
        y = self.conv(h, copies.edge_index) if edge is None else self.conv(h, copies.edge_index, edge)
        if self.of_mean is not None and self.of_mark is not None and v is not None:
            mean = self.of_mean(h.view(-1, len(copies.batch), h.shape[1]).mean(0))
            y = y + mean.repeat(len(h) // len(mean), 1) + self.of_mark(h[v])[copies.graph]
        h = h + self.norm(y).relu()
        return self.last_norm(h + self.hidden(h))


class MarkedCopies(nn.Module):
    """Our method with one step on copies, with the sizes of :class:`pfgnn.model.PFGNN`.

    Args:
        config: The model, with backbone "gine" or "gin" and one step.
        inputs: Features and task.
        max_nodes: Largest number of nodes of a graph.
    """

    def __init__(self, config: ModelConfig, inputs: Inputs, max_nodes: int) -> None:
        super().__init__()
        D, self.particles, self.max_nodes, self.last = config.width, config.particles, max_nodes, config.max_distance
        edges = config.backbone == "gine" and inputs.edge_channels is not None
        self.encode_nodes = encoder("x", inputs.in_channels, D)
        self.encode_edges = encoder("edge_attr", inputs.edge_channels, D) if edges and inputs.edge_channels else None
        before, after = config.layers, config.step_layers or config.layers
        self.before = nn.ModuleList(MarkedLayer(D, edges, False) for _ in range(before))
        self.after = nn.ModuleList(MarkedLayer(D, edges, config.exchange == "both") for _ in range(after))
        self.mark, self.table = mlp(D, D), nn.Embedding(self.last + 2, D)
        self.nodes = nn.ModuleList(nn.Linear(D, D) for _ in range(2))
        self.parts = nn.ModuleList(mlp(D, D) for _ in range(2))
        self.head = nn.Sequential(nn.Linear(2 * D, D), nn.ReLU(), nn.Linear(D, inputs.task.outputs))

    def forward(self, batch: GraphBatch) -> Tensor:
        """The prediction, [G, C]."""
        copies = copy_batch(batch, self.particles)
        edge = self.encode_edges(copies.edge_attr) if self.encode_edges is not None else None
        h = self.encode_nodes(copies.x)
        for layer in self.before:
            h = layer(h, copies, edge, None)
        readings = [self._read(0, h, copies)]
        v = self._draw(copies)
        h = h.index_add(0, v, self.mark(h[v])) + self.table(self._distances(v, copies))
        for layer in self.after:
            h = layer(h, copies, edge, v)
        return self.head(torch.cat([*readings, self._read(1, h, copies)], -1))

    def loss(self, batch: GraphBatch, gamma: float) -> Tensor:
        """The mean absolute error. A uniform policy has no loss of its own."""
        return (self(batch) - batch.tensors()["y"]).abs().mean()

    def _read(self, t: int, h: Tensor, copies: Copies) -> Tensor:
        pooled = global_add_pool(self.nodes[t](h).relu(), copies.graph, len(copies.first))
        return self.parts[t](pooled).relu().view(self.particles, -1, h.shape[1]).mean(0)

    def _draw(self, copies: Copies) -> Tensor:
        """K distinct vertices of each graph, or all of them in turn if there are fewer: [K G]."""
        K, G = self.particles, len(copies.first) // self.particles
        first, batch = copies.first[:G], copies.batch
        sizes = torch.bincount(batch, minlength=G)
        place = torch.arange(len(batch), device=batch.device) - first[batch] + self.max_nodes * batch
        rows = torch.full((G * self.max_nodes,), 2.0, device=batch.device)
        rows = rows.index_copy(0, place, torch.rand(len(batch), device=batch.device)).view(G, -1)
        turn = torch.arange(K, device=batch.device)[:, None] % sizes  # [K, G]
        return (rows.argsort(1).gather(1, turn.t()).t() + copies.first.view(K, G)).flatten()

    def _distances(self, v: Tensor, copies: Copies) -> Tensor:
        """The distance of each node to the marked vertex of its graph, at most the last row of the table: [K N]."""
        d = torch.full_like(copies.graph, self.last + 1).index_fill(0, v, 0)
        source, target = copies.edge_index
        for _ in range(self.last):
            d = d.scatter_reduce(0, target, d[source] + 1, "amin")
        return d
