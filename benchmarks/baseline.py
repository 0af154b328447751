"""The baseline of the speed measurements: PF-GNN on K copies of each graph, run eagerly with PyG's layers.

The batch is copied K times at the start, to K N nodes and K E edges. Everything is computed for all copies, even what
is equal in all of them: the encoders, the layers before the first step, the edge terms. Nothing else is slow on
purpose: all sizes are known, so nothing waits for the device, and copying is vectorised.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv, GraphNorm, PNAConv, global_add_pool, global_mean_pool
from torch_geometric.utils import softmax

from pfgnn.data.batch import GraphBatch
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.model_inputs import Inputs
from pfgnn.model.features import encoder

if TYPE_CHECKING:
    from benchmarks.marked_copies import MarkedCopies

AGGREGATORS = ["mean", "min", "max", "std"]
SCALERS = ["identity", "amplification", "attenuation"]
ALPHA = 0.5  # α of soft resampling
BOUND = 5.0  # largest absolute score of the observation


class Copies(NamedTuple):
    """K copies of a batch. Node v of copy k has number k N + v, and graph g of copy k has number k G + g.

    Fields:
        x: Node features, [K N, F].
        edge_index: Source and target of each edge, [2, K E].
        edge_attr: Edge features, [K E, Fe], or None.
        graph: Graph number of each node, [K N].
        first: First node of each graph, [K G].
        batch: Graph number of each node of one copy, [N].
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    graph: Tensor
    first: Tensor
    batch: Tensor


def copy_batch(batch: GraphBatch, K: int) -> Copies:
    """Copy a batch K times. The batch must not be padded."""
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
    """Layers h ← h + relu(norm(conv(h))) with PyG's PNAConv or GINConv, and PyG's GraphNorm.

    Args:
        config: Gives the backbone, the width and the towers.
        layers: Number of layers.
        degrees: Histogram of the in-degrees, for PNA.
        edges: Whether edge features are used.
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
        """Apply all layers: h [K N, D], edge [K E, D] -> [K N, D]."""
        for conv, norm in zip(self.convs, self.norms, strict=True):
            out = conv(h, copies.edge_index, edge) if self.edges else conv(h, copies.edge_index)
            h = h + norm(out, copies.graph, len(copies.first)).relu()
        return h


class Baseline(nn.Module):
    """PF-GNN on copies, with the sizes of :class:`pfgnn.model.PFGNN` with the paper's parts.

    Args:
        config: The model, with backbone "pna" or "gin".
        inputs: Features and task.
        degrees: Histogram of the in-degrees of the training graphs.
        max_nodes: Largest number of nodes of a graph. With it, the vertices are put into rows without waiting for the
            device.
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
        """The prediction [G, C], and the log-probability of all draws [G], as a mean over the particles."""
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
        """The task loss plus γ times the policy loss, whose baseline is the mean loss of the other graphs."""
        (prediction, log_prob), y = self(batch), batch.tensors()["y"]
        if self.regression:
            losses = (prediction - y).abs().mean(1)
        else:
            losses = nn.functional.cross_entropy(prediction, y[:, 0], reduction="none")
        fixed = losses.detach()
        advantage = fixed - (fixed.sum() - fixed) / max(len(fixed) - 1, 1)
        return losses.mean() + gamma * (advantage * log_prob).mean()

    def _draw(self, h: Tensor, copies: Copies) -> tuple[Tensor, Tensor]:
        """Draw a vertex of each graph in each copy: v [K G], and log P(v) [K G]."""
        graphs = len(copies.first)
        p = softmax(self.policy(h).squeeze(-1), copies.graph, num_nodes=graphs)  # [K N]
        place = torch.arange(len(p), device=p.device) - copies.first[copies.graph] + self.max_nodes * copies.graph
        rows = p.new_zeros(graphs * self.max_nodes).index_copy(0, place, p.detach()).view(graphs, self.max_nodes)
        # Draws with probabilities p, as torch.multinomial does; but that would wait for the device.
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
    """One update: forward pass, loss, backward pass, clipping and Adam."""

    def __init__(self, model: "Baseline | MarkedCopies", gamma: float, clip: float) -> None:
        self.model, self.gamma, self.clip = model, gamma, clip
        self.optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def __call__(self, batch: GraphBatch) -> None:
        """Do one update with a batch that is not padded."""
        self.optimiser.zero_grad()
        self.model.loss(batch, self.gamma).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimiser.step()
