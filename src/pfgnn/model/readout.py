"""Readout: from the beliefs of all steps to a prediction per graph or per node (lines 15 and 16)."""

import torch
from torch import Tensor, nn

from pfgnn.model.batch import GraphBatch
from pfgnn.model.belief import Belief
from pfgnn.model.numeric import choose
from pfgnn.model.segments import segment_max, segment_mean, segment_sum, spread

LEAST_SHARE = 0.05  # of the newest pass in a running mean

POOLS = {"sum": segment_sum, "mean": segment_mean, "max": segment_max}


class RunningNorm(nn.Module):
    """f ↦ (f - μ) / √(σ² + ε), μ and σ² running means over the training passes so far.

    Pooled embeddings of different graphs are nearly one common vector, and what tells the graphs apart is small beside
    it. A gradient step moves along that vector, and soon no hidden unit of the head is left alive for any graph. Where
    running means take it out, unlike a batch's own, a graph's output still does not depend on its batch.

    Args: columns: F.  eps: ε.
    Shapes: f [R, F] -> [R, F].
    """

    def __init__(self, columns: int, eps: float = 1e-4) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("variance", torch.ones(columns))
        self.register_buffer("passes", torch.zeros(()))
        self.mean: Tensor
        self.variance: Tensor
        self.passes: Tensor

    def forward(self, f: Tensor, rows: int) -> Tensor:
        """Standardise by the means of earlier passes; in training the first ``rows`` then count to the next."""
        out = (f - self.mean) * torch.rsqrt(self.variance + self.eps)
        if self.training:
            seen = f.detach()[:rows]
            share = (1 / (self.passes + 1)).clamp(min=LEAST_SHARE)
            self.mean.lerp_(seen.mean(0).to(self.mean.dtype), share)
            self.variance.lerp_((seen - self.mean).square().mean(0).to(self.mean.dtype), share)
            self.passes += 1
        return out


class Readout(nn.Module):
    """y = MLP(pool_v CONCAT_t Σ_k w_t^k H_t^k), without the pooling at node level.

    With ``second_moment`` each step contributes Σ_k w_k H_k² as well: what the mean particle averages away. With
    ``running_norm`` a :class:`RunningNorm` stands before the MLP.

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
        running_norm: bool = False,
    ) -> None:
        super().__init__()
        reduce = choose("pool", pool, POOLS)
        self.pool = reduce if choose("level", level, {"graph": True, "node": False}) else None
        self.second_moment = second_moment
        columns = (steps + 1) * (2 * width if second_moment else width)
        self.norm = RunningNorm(columns) if running_norm else None
        self.head = nn.Sequential(nn.Linear(columns, width), nn.ReLU(), nn.Linear(width, out_channels))

    def moments(self, belief: Belief, graph: GraphBatch) -> Tensor:
        """The mean particle Σ_k w_k H_k, and Σ_k w_k H_k² if asked for: [N, D']."""
        H = belief.embeddings
        if H.shape[1] == 1:  # all particles equal, and the weights sum to 1
            powers = [H[:, 0]] if not self.second_moment else [H[:, 0], H[:, 0].square()]
        else:
            w = spread(belief.weights, graph.batch)[:, None].to(H.dtype)  # [N, 1, K]
            powers = [(w @ power).squeeze(1) for power in ([H, H.square()] if self.second_moment else [H])]
        return torch.cat(powers, -1)

    def features(self, moments: list[Tensor], graph: GraphBatch) -> Tensor:
        """f̃(G), what the head reads: T + 1 moments [N, D'] -> [G, (T + 1) D'] or [N, (T + 1) D']."""
        f = torch.cat(moments, -1)
        return f if self.pool is None else self.pool(f, graph.batch, graph.num_graphs)

    def forward(self, moments: list[Tensor], graph: GraphBatch) -> Tensor:
        """Predict; see the class."""
        f = self.features(moments, graph)
        if self.norm is not None:
            f = self.norm(f, len(f) - graph.padding)
        return self.head(f)
