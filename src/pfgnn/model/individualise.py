"""Individualisation: give the drawn vertices a colour of their own (line 8)."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from pfgnn.arguments import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.mlp import MLP
from pfgnn.model.numeric import largest
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.model.sample import Draw
from pfgnn.ops.distance import distances
from pfgnn.ops.embedding import look_up
from pfgnn.ops.particles import add_to_vertices, pick_vertices
from pfgnn.ops.segments import spread
from pfgnn.registry import Registry


class Individualise(nn.Module, ABC):
    """What happens to the embeddings H of a particle that has drawn vertices.

    Args: width: D.
    Shapes: H [N, K, D] or [N, 1, D], vertices [G, K, m] -> [N, K, D].
    """

    stochastic = False

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = check_positive("width", width)

    @abstractmethod
    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle; see the class."""


INDIVIDUALISATIONS: Registry[Individualise] = Registry("individualisation")


class Recolour(Individualise):
    """H_v ← recolour(h_v) on the first ``share`` of the dimensions, all else untouched.

    Subclasses say how to recolour.

    Args: width: D.  share: the part of the dimensions that changes, 0 < share ≤ 1.
    """

    def __init__(self, width: int, share: float = 1.0) -> None:
        super().__init__(width)
        if not 0 < share <= 1:
            raise InputError(f"share must lie in (0, 1], but it is {share}")
        self.dimensions = max(1, round(share * width))

    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle; see the class."""
        h = pick_vertices(H, draw.vertices, noise.nodes)  # [G, K, m, D]
        change = self.recolour(h, noise, step, particles) - h
        if self.dimensions < self.width:
            change[..., self.dimensions :] = 0
        return add_to_vertices(H, change, draw.vertices, draw.valid, noise.nodes, largest(H.dtype))

    @abstractmethod
    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """The new embeddings of the drawn vertices: [G, K, m, D] -> [G, K, m, D]."""


class Learned(Recolour):
    """A recolouring by an MLP."""

    def __init__(self, width: int, share: float = 1.0) -> None:
        super().__init__(width, share)
        self.mlp = MLP(width, width, width)


@INDIVIDUALISATIONS.register("multiplicative")
class Multiplicative(Learned):
    """h_v ← h_v ⊙ MLP(h_v), the paper's mask matrix M (Equation 5)."""

    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """h ⊙ MLP(h)."""
        return h * self.mlp(h)


@INDIVIDUALISATIONS.register("multiplicative_relu")
class MultiplicativeRelu(Multiplicative):
    """h_v ← h_v ⊙ relu(MLP(h_v)), as in the program that the paper's authors released."""

    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """h ⊙ relu(MLP(h))."""
        return h * self.mlp(h).relu()


@INDIVIDUALISATIONS.register("additive")
class Additive(Learned):
    """h_v ← h_v + MLP(h_v); moves a zero embedding too."""

    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """h + MLP(h)."""
        return h + self.mlp(h)


@INDIVIDUALISATIONS.register("distance")
class ByDistance(Additive):
    """h_u ← h_u + E_t[min(d(u, v), d_max + 1)] for every vertex u, after h_v ← h_v + MLP(h_v).

    Refinement after an individualisation first finds the distances to the individualised vertex v. Here the network
    is told them, so it need not learn to carry the mark of one vertex through its layers.

    d(u, v) counts the edges of a shortest path from v to u. Edges are followed in their direction. Their features do
    not count. All vertices beyond d_max share the last row with those that v cannot reach. If a particle individualises
    several vertices at once, the nearest one counts.

    Args:
        width: D.
        steps: T; each step has a table E_t of its own.
        max_distance: d_max.
        share: see :class:`Recolour`; it limits the recolouring of v, not the distances.
    """

    def __init__(self, width: int, steps: int, max_distance: int = 5, share: float = 1.0) -> None:
        super().__init__(width, share)
        self.steps = check_positive("steps", steps, least=0)
        self.max_distance = check_positive("max_distance", max_distance)
        self.tables = nn.Parameter(torch.randn(self.steps, max_distance + 2, width))

    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle; see the class."""
        H = super().forward(H, draw, graph, noise, step, particles)
        d = distances(draw.vertices, draw.valid, self.max_distance, graph.sources, graph.targets)  # [N, K]
        return H + look_up(self.tables[step - 1], d.flatten()).view_as(H)


class StraightThrough(Individualise):
    """h_u ← h_u + s (inner(h)_u - h_u), s = 1 in value, with the gradient of P(v) (Jang et al., ICLR 2017).

    The mark of the drawn vertex v is as ``inner`` makes it. Its strength s carries the gradient of the loss to the
    policy, as if the mark had been scaled by P(v): the straight-through estimate at the vertices that were drawn.

    Args:
        inner: how vertices are individualised.
    """

    def __init__(self, inner: Individualise) -> None:
        super().__init__(inner.width)
        self.inner = inner
        self.stochastic = inner.stochastic

    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle; see the class."""
        marked = self.inner(H, draw, graph, noise, step, particles)
        p = draw.log_prob.exp()
        strength = spread(1 + (p - p.detach()), graph.nodes)[..., None].to(marked.dtype)  # [N, K, 1]
        return H + strength * (marked - H)


@INDIVIDUALISATIONS.register("random")
class RandomNormal(Recolour):
    """h_v ← h_v ⊙ ε, ε ~ N(0, 1): the paper's ablation, its MLP replaced by noise."""

    stochastic = True

    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """h ⊙ ε."""
        shape = (h.shape[2], h.shape[3])
        return h * noise.normal_per_particle(step, Purpose.INDIVIDUALISE, particles, shape).to(h.dtype)
