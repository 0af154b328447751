"""RNI: random node initialisation (Sato et al., SDM 2021; Abboud et al., IJCAI 2021)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.model.base import Pass
from pfgnn.model.belief import initial_belief
from pfgnn.model.features import Constant, encoder
from pfgnn.model.individualise import RandomNormal
from pfgnn.model.output import Output
from pfgnn.model.particle_context import Context
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.model.rivals.backbone_alone import Alone
from pfgnn.setting_types import MOST_PATHS


class RNI(Alone):
    """y = 1/K Σ_k MLP(pool_v GNN([ε_k, h])), with new ε_k ~ N(0, 1) for each node, particle and pass.

    The first R = share · D dimensions of each node are noise, and the others are its encoded features h. With share = 1
    the features are not read. A single output is not invariant under relabelling. The mean of K outputs tends to an
    invariant of the graph as K grows.

    Args:
        backbone: The GNN, from width D to width D, as in :class:`PFGNN`.
        out_channels: C, the number of outputs.
        in_channels: As in :class:`PFGNN`.
        edge_channels: As in :class:`PFGNN`.
        share: Share of the dimensions that are random, 0 < share ≤ 1.
        particles: K, the number of independent initialisations. Each call can use another number.
        width: As in :class:`PFGNN`.
        level: See :class:`Readout`.
        pool: See :class:`Readout`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        out_channels: int,
        *,
        in_channels: int | Sequence[int] = 0,
        edge_channels: int | Sequence[int] | None = None,
        share: float = 1.0,
        particles: int = 1,
        width: int | None = None,
        level: str = "graph",
        pool: str = "mean",
    ) -> None:
        super().__init__(
            backbone,
            out_channels,
            in_channels=in_channels,
            edge_channels=edge_channels,
            width=width,
            level=level,
            pool=pool,
        )
        self.particles = check_positive("particles", particles, most=MOST_PATHS)
        self.random = RandomNormal(self.width, share).dimensions  # R
        left = self.width - self.random
        self.encode_nodes = encoder("x", in_channels, left) if left else Unread("x", 0)

    def predict(self, given: Pass) -> Output:
        """Predict with the mean over K initialisations."""
        h, graph, noise, K, chunk, _ = given
        chunks = torch.split(torch.arange(K, device=h.device), chunk)
        H = torch.cat(
            [self.refine[0](self.initialise(h, noise, k), graph, Context(noise, 0, k)) for k in chunks], 1
        )  # [N, K, D]
        belief = initial_belief(h, K, graph.num_graphs, track_used=False)._replace(embeddings=H)
        f = self.readout.pool(H, graph)  # [G, K, D]
        return Output(self.readout.head(f).mean(1), f.mean(1), belief, [], [])

    def initialise(self, h: Tensor, noise: Noise, k: Tensor) -> Tensor:
        """The initial embeddings [ε_k, h], shape [N, K, D].

        Args:
            h: Encoded features, shape [N, D - R].
            noise: The random numbers of the pass.
            k: Numbers of the particles, shape [K].
        """
        cells = (k[:, None] * self.random + torch.arange(self.random, device=k.device)).flatten()  # [K R]
        u = noise.per_node(0, Purpose.INDIVIDUALISE, cells)  # [N, K R]
        random = torch.special.ndtri(u).to(h.dtype).view(h.shape[0], k.shape[0], self.random)
        return torch.cat([random, h[:, None].expand(-1, k.shape[0], -1)], -1)


class Unread(Constant):
    """Ignores the features: encodes any x [N, F] as [N, 0]."""

    def check(self, x: Tensor, values: bool = True) -> None:
        """Accept any features."""
