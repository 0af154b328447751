"""The readout of our method, which reads each particle by itself."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model.belief import Belief
from pfgnn.model.chunks import Chunks
from pfgnn.model.mlp import MLP
from pfgnn.model.readout import READOUTS, Options, Reading, Readout
from pfgnn.ops.particles import average_particles


@READOUTS.register("particle")
class PerParticle(Readout):
    """f_t = Σ_k w_k relu(MLP_t(pool_v relu(A_t h_v^k + a_t))): reads each particle by itself, then averages.

    The mean particle loses information that only single particles have. The MLP on each particle keeps it. A norm over
    the nodes of a graph removes information from the sum of the embeddings. The map A_t and the relu before the pooling
    keep it.

    At node level f_t = relu(B_t o_v + b_t), where o_v is the mean of h_v^k over the particles that individualised v
    itself. If there are none, f_t = Σ_k w_k relu(MLP_t(h_v^k)). In a large graph most particles individualised a vertex
    far from v, so this mean says little about v. So it is used only if no particle individualised v.

    Args:
        width: D.
        steps: T.
        out_channels: C.
        options: Other arguments of :class:`Readout`. The default of pool is "sum".
    """

    def __init__(self, width: int, steps: int, out_channels: int, **options: Unpack[Options]) -> None:
        options.setdefault("pool", "sum")
        super().__init__(width, steps, out_channels, **options)
        pooled = 0 if self.reduce is None else steps + 1
        self.nodes = nn.ModuleList(nn.Linear(width, width) for _ in range(pooled))  # A_t, a_t
        self.parts = nn.ModuleList(MLP(width, width, width) for _ in range(steps + 1))
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in range(steps if self.reduce is None else 0))  # B_t

    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None, chunks: Chunks) -> Reading:
        """Compute f_t; see the class."""
        H, log_w = belief.embeddings, belief.log_weights
        if self.reduce is None:
            mean, *own = chunks.add(self._of_nodes, [H], t, log_w, graph, vertices)
            if not own:
                return Reading(mean, None)
            mine, total = own
            mine = mine / total.clamp(min=1e-30).to(mine.dtype)
            return Reading(torch.where(total > 0, self.own[t - 1](mine).relu(), mean), None)
        [parts] = chunks.run(self._of_graphs, [H], t, graph)
        if parts.shape[1] == 1:
            return Reading(parts.squeeze(1), parts)
        w = log_w.exp()[:, None].to(parts.dtype)  # [G, 1, K]
        return Reading((w @ parts).squeeze(1), parts)

    def _of_graphs(self, part: slice, H: Tensor, t: int, graph: GraphBatch) -> tuple[Tensor]:
        """relu(MLP_t(pool_v relu(A_t h_v^k + a_t))) of the particles in a slice, shape [G, k, D]."""
        return (self.parts[t](self.pool(self.nodes[t](H).relu(), graph)).relu(),)

    def _of_nodes(
        self, part: slice, H: Tensor, t: int, log_w: Tensor, graph: GraphBatch, vertices: Tensor | None
    ) -> list[Tensor]:
        """The sums over the particles in a slice.

        Args:
            part: The slice of k particles.
            H: Their embeddings, shape [N, k, D], or [N, 1, D] while all particles are equal.
            t: The step.
            log_w: log w of all particles, shape [G, K].
            graph: The batch of graphs.
            vertices: The vertices that all particles individualised, shape [G, K, m], or None.

        Returns:
            Σ_k w_k relu(MLP_t(h_v^k)), shape [N, D]; and if there are vertices:
            Σ_k w_k h_v^k over the particles that individualised v, shape [N, D].
            Σ_k w_k over the same ones, shape [N, 1].
        """
        parts = self.parts[t](H).relu()  # [N, k, D], or [N, 1, D]
        if vertices is None and parts.shape[1] == 1:
            return [parts.squeeze(1)]
        mean = average_particles(parts, log_w[:, part], graph.nodes)
        return [mean] if vertices is None else [mean, *own_particles(H, log_w[:, part], vertices[:, part], graph)]


def own_particles(H: Tensor, log_w: Tensor, vertices: Tensor, graph: GraphBatch) -> tuple[Tensor, Tensor]:
    """For each node v, the weighted sum of h_v^k over the particles k that individualised v.

    Args:
        H: Embeddings, shape [N, K, D].
        log_w: log w, shape [G, K].
        vertices: The vertices that the particles individualised, shape [G, K, m].
        graph: The batch of graphs.

    Returns:
        The sum, shape [N, D].
        The sum of the weights, shape [N, 1]. It is 0 if no particle individualised v.
    """
    node = torch.arange(graph.num_nodes, device=vertices.device)
    is_own = (vertices[graph.batch] == node[:, None, None]).any(-1)  # [N, K]
    w = torch.where(is_own, log_w.exp()[graph.batch], 0.0).to(H.dtype)
    return (w[:, None] @ H).squeeze(1), w.sum(1, keepdim=True, dtype=log_w.dtype)
