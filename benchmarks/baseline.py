"""What pfgnn is measured against: PF-GNN on K copies of every graph, run eagerly with PyG's layers.

The batch is copied K times at the start, K N nodes and K E edges, copy after copy, and everything runs on all copies,
also what is equal in them: the encoders, the layers before the first step, the edge terms. Otherwise nothing is slow
on purpose: sizes are known everywhere, so that nothing waits for the device, and copying is vectorised.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv, GraphNorm, PNAConv, global_add_pool, global_mean_pool
from torch_geometric.utils import softmax

from pfgnn.data.batch import GraphBatch
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.model_inputs import Inputs
from pfgnn.model.features import encoder

AGGREGATORS = ["mean", "min", "max", "std"]
SCALERS = ["identity", "amplification", "attenuation"]
ALPHA = 0.5  # of soft resampling
BOUND = 5.0  # of the observation's score


class Copies(NamedTuple):
    """K copies of a batch; node v of copy k has the number k N + v, graph g the number k G + g.

    Fields: ``x`` [K N, F]; ``edge_index`` [2, K E]; ``edge_attr`` [K E, Fe] or None; ``graph`` [K N], graph number of
    each node; ``first`` [K G], the first node of each graph; ``batch`` [N], graph numbers within one copy.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    graph: Tensor
    first: Tensor
    batch: Tensor


def copy_batch(batch: GraphBatch, K: int) -> Copies:
    """K copies of a batch, which is not padded."""
    N, G, E = len(batch.batch), batch.num_graphs, batch.edge_index.shape[1]
    k = torch.arange(K, device=batch.batch.device)
    attr = None if batch.edge_attr is None else batch.edge_attr.repeat(K, 1)
    first = batch.sizes.cumsum(0) - batch.sizes
    return Copies(
        batch.tensors()["x"].repeat(K, 1),
        (batch.edge_index[:, None] + N * k[:, None]).view(2, K * E),
        attr,
        (batch.batch + G * k[:, None]).flatten(),
        (first + N * k[:, None]).flatten(),
        batch.batch,
    )


class Layers(nn.Module):
    """h ← h + relu(norm(conv(h))) with PyG's PNAConv or GINConv and GraphNorm, layer after layer.

    Args: config: backbone, width, towers.  layers: how many.  degrees: histogram of the in-degrees, for PNA.
    edges: whether edge features are read.
    """

    def __init__(self, config: ModelConfig, layers: int, degrees: Tensor, edges: bool) -> None:
        super().__init__()
        self.edges = edges
        self.convs = nn.ModuleList(self._conv(config, degrees, edges) for _ in range(layers))
        self.norms = nn.ModuleList(GraphNorm(config.width, eps=1e-2) for _ in range(layers))

    @staticmethod
    def _conv(config: ModelConfig, degrees: Tensor, edges: bool) -> nn.Module:
        D = config.width
        if config.backbone == "pna":
            edge_dim = D if edges else None
            conv: nn.Module = PNAConv(
                D, D, AGGREGATORS, SCALERS, degrees, edge_dim=edge_dim, towers=config.towers, divide_input=True
            )
        elif config.backbone == "gin":
            conv = GINConv(nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, D)), train_eps=True)
        else:
            raise ValueError(f"the baseline's backbone must be pna or gin, but it is {config.backbone}")
        return conv

    def forward(self, h: Tensor, copies: Copies, edge: Tensor | None) -> Tensor:
        """h [K N, D], edge [K E, D] -> [K N, D]."""
        for conv, norm in zip(self.convs, self.norms, strict=True):
            out = conv(h, copies.edge_index, edge) if self.edges else conv(h, copies.edge_index)
            h = h + norm(out, copies.graph, len(copies.first)).relu()
        return h


class Baseline(nn.Module):
    """PF-GNN on copies, of the same sizes as :class:`pfgnn.model.PFGNN` with the paper's parts.

    Args: config: the model; its backbone "pna" or "gin".  inputs: features and task.  degrees: histogram of the
    training graphs' in-degrees.  max_nodes: of a graph, to lay its vertices out in a row without asking the device.
    """

    def __init__(self, config: ModelConfig, inputs: Inputs, degrees: Tensor, max_nodes: int) -> None:
        super().__init__()
        D, self.steps, self.particles, self.max_nodes = config.width, config.steps, config.particles, max_nodes
        self.pool = {"sum": global_add_pool, "mean": global_mean_pool}[config.pool]
        self.regression = inputs.task.loss == "l1"
        edges = config.backbone == "pna" and inputs.edge_channels is not None
        self.encode_nodes = encoder("x", inputs.in_channels, D)
        self.encode_edges = encoder("edge_attr", inputs.edge_channels, D) if edges and inputs.edge_channels else None
        self.refine = nn.ModuleList([Layers(config, config.layers, degrees, edges)])
        for _ in range(self.steps):
            self.refine.append(Layers(config, config.step_layers or config.layers, degrees, edges))
        self.policy = nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, 1))
        self.individualise = nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, D))
        self.phi = nn.Sequential(nn.Linear(D, D), nn.ReLU())
        self.rho = nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, 1))
        self.head = nn.Sequential(nn.Linear((self.steps + 1) * D, D), nn.ReLU(), nn.Linear(D, inputs.task.outputs))

    def forward(self, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """The prediction [G, C], and the log-probability of all draws, averaged over the particles: [G]."""
        K, N, G = self.particles, len(batch.batch), batch.num_graphs
        copies = copy_batch(batch, K)
        edge = self.encode_edges(copies.edge_attr) if self.encode_edges is not None else None
        h = self.refine[0](self.encode_nodes(copies.x), copies, edge)  # [K N, D]
        log_w = h.new_full((K, G), -math.log(K))
        means, log_prob = [h.view(K, N, -1).mean(0)], h.new_zeros(G)
        for refine in self.refine[1:]:
            v, log_p = self._draw(h, copies)
            h_v = h.index_select(0, v)
            h = h.index_copy(0, v, h_v * self.individualise(h_v))
            h = refine(h, copies, edge)
            log_prob = log_prob + log_p.view(K, G).mean(0)
            score = self.rho(global_mean_pool(self.phi(h), copies.graph, len(copies.first))).view(K, G)
            log_w = (log_w + BOUND * (score / BOUND).tanh()).log_softmax(0)
            w = log_w.exp().index_select(1, copies.batch)[..., None]  # [K, N, 1]
            means.append((w * h.view(K, N, -1)).sum(0))
            h, log_w = self._resample(h, log_w, copies)
        return self.head(self.pool(torch.cat(means, -1), copies.batch, G)), log_prob

    def loss(self, batch: GraphBatch, gamma: float) -> Tensor:
        """Task loss and the policy gradient's term, with the mean loss of the other graphs as its baseline."""
        (prediction, log_prob), y = self(batch), batch.tensors()["y"]
        if self.regression:
            losses = (prediction - y).abs().mean(1)
        else:
            losses = nn.functional.cross_entropy(prediction, y[:, 0], reduction="none")
        fixed = losses.detach()
        advantage = fixed - (fixed.sum() - fixed) / max(len(fixed) - 1, 1)
        return losses.mean() + gamma * (advantage * log_prob).mean()

    def _draw(self, h: Tensor, copies: Copies) -> tuple[Tensor, Tensor]:
        """A vertex of each graph and copy, v [K G], and log P(v) [K G]."""
        graphs = len(copies.first)
        p = softmax(self.policy(h).squeeze(-1), copies.graph, num_nodes=graphs)  # [K N]
        place = torch.arange(len(p), device=p.device) - copies.first[copies.graph] + self.max_nodes * copies.graph
        rows = p.new_zeros(graphs * self.max_nodes).index_copy(0, place, p.detach()).view(graphs, self.max_nodes)
        # The race of exponential clocks draws as torch.multinomial does, which would wait for the device.
        v = copies.first + (rows / torch.empty_like(rows).exponential_()).argmax(1)
        return v, p.index_select(0, v).clamp(min=1e-30).log()

    def _resample(self, h: Tensor, log_w: Tensor, copies: Copies) -> tuple[Tensor, Tensor]:
        """Soft resampling: h [K N, D], log_w [K, G] -> the same shapes."""
        K, G = log_w.shape
        log_q = torch.logaddexp(math.log(ALPHA) + log_w, torch.full_like(log_w, math.log((1 - ALPHA) / K)))
        bounds = log_q.detach().exp().cumsum(0).t().contiguous()  # [G, K]
        at = torch.rand(G, K, device=h.device) * bounds[:, -1:]
        ancestors = torch.searchsorted(bounds, at, right=True).clamp(max=K - 1).t()  # [K, G]
        log_w = (log_w - log_q).gather(0, ancestors).log_softmax(0)
        N = len(copies.batch)
        rows = N * ancestors.index_select(1, copies.batch) + torch.arange(N, device=h.device)  # [K, N]
        return h.index_select(0, rows.flatten()), log_w


class BaselineStep:
    """One update: forward, loss, backward, clipping, Adam."""

    def __init__(self, model: Baseline, gamma: float, clip: float) -> None:
        self.model, self.gamma, self.clip = model, gamma, clip
        self.optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def __call__(self, batch: GraphBatch) -> None:
        """Take one update with a batch that is not padded."""
        self.optimiser.zero_grad()
        self.model.loss(batch, self.gamma).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimiser.step()
