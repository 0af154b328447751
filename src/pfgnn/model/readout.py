"""Readout: from the beliefs of all steps to a prediction per graph or per node (lines 15 and 16)."""

import torch
from torch import Tensor, nn

from pfgnn.kernels.particles import average_particles
from pfgnn.kernels.segments import segment_max, segment_mean, segment_sum
from pfgnn.model.batch import GraphBatch
from pfgnn.model.belief import Belief
from pfgnn.model.mlp import MLP
from pfgnn.model.numeric import choose

POOLS = {"sum": segment_sum, "mean": segment_mean, "max": segment_max}


class Readout(nn.Module):
    """y = MLP(pool_v CONCAT_t Σ_k w_t^k H_t^k), without the pooling at node level.

    With ``second_moment`` each step contributes Σ_k w_k H_k² as well: what the mean particle averages away.

    Args: width: D.  steps: T; t = 0, the colouring before any individualisation, is read too.
        out_channels: C.  level: "graph" or "node".  pool: "sum", "mean" or "max".
    Shapes: T + 1 moments [N, D'] -> [G, C] or [N, C], D' = D or 2 D.
    """

    def __init__(
        self,
        width: int,
        steps: int,
        out_channels: int,
        level: str = "graph",
        pool: str = "mean",
        second_moment: bool = False,
    ) -> None:
        super().__init__()
        reduce = choose("pool", pool, POOLS)
        self.pool = reduce if choose("level", level, {"graph": True, "node": False}) else None
        self.second_moment = second_moment
        columns = (steps + 1) * (2 * width if second_moment else width)
        self.head = MLP(columns, width, out_channels)

    def moments(self, belief: Belief, graph: GraphBatch) -> Tensor:
        """The mean particle Σ_k w_k H_k, and Σ_k w_k H_k² if asked for: [N, D']."""
        H = belief.embeddings
        if H.shape[1] == 1:  # all particles equal, and the weights sum to 1
            powers = [H.squeeze(1), H.squeeze(1).square()] if self.second_moment else [H.squeeze(1)]
        else:
            powers = [H, H.square()] if self.second_moment else [H]
            powers = [average_particles(power, belief.log_weights, graph.nodes) for power in powers]
        return torch.cat(powers, -1) if len(powers) > 1 else powers[0]

    def features(self, moments: list[Tensor], graph: GraphBatch) -> Tensor:
        """f̃(G), what the head reads: T + 1 moments [N, D'] -> [G, (T + 1) D'] or [N, (T + 1) D']."""
        f = torch.cat(moments, -1)
        return f if self.pool is None else self.pool(f, graph.nodes)

    def forward(self, moments: list[Tensor], graph: GraphBatch) -> Tensor:
        """Predict; see the class."""
        return self.head(self.features(moments, graph))
