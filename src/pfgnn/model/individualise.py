"""Individualisation: give each drawn vertex a colour of its own (line 8)."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_number, check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.clamp import largest
from pfgnn.model.mlp import MLP
from pfgnn.model.randomness import Noise, Purpose
from pfgnn.model.sample import Draw
from pfgnn.ops.distance import distances
from pfgnn.ops.embedding import add_look_up
from pfgnn.ops.particles import add_to_vertices, pick_vertices
from pfgnn.ops.segments import spread
from pfgnn.registry import Registry
from pfgnn.setting_types import MOST_LAYERS, MOST_STEPS, MOST_WIDTH

RADII = 32  # lengths that ByPosition distinguishes


class Individualise(nn.Module, ABC):
    """Base class: changes the embeddings H of each particle at or around its drawn vertices.

    Args:
        width: D.
    """

    stochastic = False  # whether forward uses the noise
    reads_positions = False  # whether forward uses the positions of the nodes

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = check_positive("width", width, most=MOST_WIDTH)

    @abstractmethod
    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle.

        Args:
            H: Embeddings, shape [N, K, D], or [N, 1, D] while all particles are equal.
            draw: The drawn vertices, shape [G, K, m].
            graph: The batch of graphs.
            noise: The random numbers of the pass.
            step: t.
            particles: Numbers of the particles, shape [K].

        Returns:
            The new embeddings, shape [N, K, D].
        """


INDIVIDUALISATIONS: Registry[Individualise] = Registry("individualisation")


class Recolour(Individualise):
    """h_v ← recolour(h_v) for each drawn vertex v. All other vertices stay as they are. Subclasses define recolour.

    Args:
        width: D.
        share: Share of the dimensions that changes, 0 < share ≤ 1. These are the first ones.
    """

    def __init__(self, width: int, share: float = 1.0) -> None:
        super().__init__(width)
        if not 0 < check_number("share", share) <= 1:
            raise InputError(f"share must lie in (0, 1], but it is {share}")
        self.dimensions = max(1, round(share * width))

    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle; see :class:`Individualise`."""
        h = pick_vertices(H, draw.vertices, noise.nodes)  # [G, K, m, D]
        change = self.recolour(h, noise, step, particles) - h
        if self.dimensions < self.width:
            change[..., self.dimensions :] = 0
        return add_to_vertices(H, change, draw.vertices, draw.valid, noise.nodes, largest(H.dtype))

    @abstractmethod
    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Return the new embeddings of the drawn vertices, shape [G, K, m, D].

        Args:
            h: Embeddings of the drawn vertices, shape [G, K, m, D].
            noise: The random numbers of the pass.
            step: t.
            particles: Numbers of the particles, shape [K].
        """


class Learned(Recolour):
    """Base class of the recolourings with an MLP."""

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
    """h_v ← h_v ⊙ relu(MLP(h_v)), as in the code released by the paper's authors."""

    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """h ⊙ relu(MLP(h))."""
        return h * self.mlp(h).relu()


@INDIVIDUALISATIONS.register("additive")
class Additive(Learned):
    """h_v ← h_v + MLP(h_v). Unlike :class:`Multiplicative`, it also changes an embedding that is zero."""

    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """h + MLP(h)."""
        return h + self.mlp(h)


@INDIVIDUALISATIONS.register("mark")
class Mark(Recolour):
    """h_v ← h_v + m, with a learned vector m. Equal vertices become equal again, to the last bit.

    Args:
        width: D.
        share: See :class:`Recolour`.
    """

    def __init__(self, width: int, share: float = 1.0) -> None:
        super().__init__(width, share)
        self.mark = nn.Parameter(torch.randn(width))

    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """h + m."""
        return h + self.mark.to(h.dtype)


@INDIVIDUALISATIONS.register("distance")
class ByDistance(Additive):
    """h_u ← h_u + E_t[min(d(u, v), d_max + 1)] for every vertex u, after h_v ← h_v + MLP(h_v).

    Refinement after an individualisation first finds the distances to the individualised vertex v. Here the network
    gets them as input. So it does not have to learn to carry the mark of one vertex through its layers.

    d(u, v) is the number of edges on a shortest path from v to u. Edges are followed in their direction. Edge features
    have no effect. Vertices farther than d_max and vertices that cannot be reached from v share the last row of E_t. If
    a particle individualises several vertices at once, the distance to the nearest one is used.

    Args:
        width: D.
        steps: T. Each step has its own table E_t.
        max_distance: d_max.
        share: Share of the dimensions in which h_v is recoloured; see :class:`Recolour`. The distances change all
            dimensions.
    """

    def __init__(self, width: int, steps: int, max_distance: int = 5, share: float = 1.0) -> None:
        super().__init__(width, share)
        self.steps = check_positive("steps", steps, least=0, most=MOST_LAYERS)
        self.max_distance = check_positive("max_distance", max_distance, most=MOST_STEPS)
        self.tables = nn.Parameter(torch.randn(self.steps, max_distance + 2, width))

    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle; see :class:`Individualise`."""
        H = super().forward(H, draw, graph, noise, step, particles)
        edges = graph.sources, graph.targets, graph.nodes
        d = distances(draw.vertices, draw.valid, self.max_distance, *edges)  # [N, K]
        return add_look_up(H, self.tables[step - 1].to(H.dtype), d)


@INDIVIDUALISATIONS.register("position")
class ByPosition(ByDistance):
    """h_u ← h_u + W_t φ(|p_u - p_v|) for every vertex u, after the marks of :class:`ByDistance`.

    For graphs in space, such as molecules whose geometry is known. p_u is the position of vertex u, and
    φ_i(r) = exp(-((r - r_i) / δ)²) for the radii r_i = 0, δ, 2 δ, ..., reach. Only lengths are used, so shifts,
    rotations and reflections change nothing. Vertices far beyond the reach get no mark. With K ≥ n, all lengths between
    two vertices are seen.

    If a particle individualises several vertices at once, the length to the nearest one is used.

    Args:
        width: D.
        steps: T. Each step has its own map W_t.
        max_distance: d_max.
        reach: The largest length that is distinguished, in the unit of the positions.
        share: See :class:`ByDistance`.
    """

    reads_positions = True

    def __init__(self, width: int, steps: int, max_distance: int = 5, reach: float = 10.0, share: float = 1.0) -> None:
        super().__init__(width, steps, max_distance, share)
        if not check_number("reach", reach) > 0:
            raise InputError(f"reach must be above 0, but it is {reach}")
        self.spacing = reach / (RADII - 1)
        self.maps = nn.Parameter(torch.randn(self.steps, RADII, width))

    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle; see :class:`Individualise`."""
        H = super().forward(H, draw, graph, noise, step, particles)
        assert graph.pos is not None  # the model has checked it
        marked = spread(graph.pos[draw.vertices], graph.nodes)  # [N, K, m, 3]
        r = (graph.pos[:, None, None] - marked).norm(dim=-1)  # [N, K, m]
        r = torch.where(spread(draw.valid, graph.nodes), r, torch.inf).amin(-1, keepdim=True)  # [N, K, 1]
        phi = (-((r / self.spacing - torch.arange(RADII, device=r.device)) ** 2)).exp()  # [N, K, RADII]
        return H + phi.to(H.dtype) @ self.maps[step - 1].to(H.dtype)


class StraightThrough(Individualise):
    """h_u ← h_u + s (inner(h)_u - h_u), where s has the value 1 and the gradient of P(v) (Jang et al., ICLR 2017).

    The result is that of ``inner``. The factor s carries the gradient of the loss to the policy, as if the change had
    been multiplied by P(v). This is the straight-through estimator at the drawn vertices v.

    Args:
        inner: The individualisation.
    """

    def __init__(self, inner: Individualise) -> None:
        if not isinstance(inner, Individualise):
            raise InputTypeError(f"inner must be an Individualise, such as ByDistance, but it is {inner!r}")
        super().__init__(inner.width)
        self.inner = inner
        self.stochastic, self.reads_positions = inner.stochastic, inner.reads_positions

    def forward(self, H: Tensor, draw: Draw, graph: GraphBatch, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """Individualise the drawn vertices of every particle; see :class:`Individualise`."""
        marked = self.inner(H, draw, graph, noise, step, particles)
        p = draw.log_prob.exp()
        strength = spread(1 + (p - p.detach()), graph.nodes)[..., None].to(marked.dtype)  # [N, K, 1]
        return H + strength * (marked - H)


@INDIVIDUALISATIONS.register("random")
class RandomNormal(Recolour):
    """h_v ← h_v ⊙ ε with ε ~ N(0, 1). In this ablation of the paper, noise replaces the MLP."""

    stochastic = True

    def recolour(self, h: Tensor, noise: Noise, step: int, particles: Tensor) -> Tensor:
        """h ⊙ ε."""
        shape = (h.shape[2], h.shape[3])
        return h * noise.normal_per_particle(step, Purpose.INDIVIDUALISE, particles, shape).to(h.dtype)
