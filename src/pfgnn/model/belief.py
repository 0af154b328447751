"""The belief: K weighted colourings of each graph, and what one does with its weights."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.ops.particles import select_particles
from pfgnn.ops.segments import Segments


class Belief(NamedTuple):
    """b_t(G) = ⟨H_t^k, w_t^k⟩ for k = 1..K (Equation 3), for each of G graphs.

    Fields: ``embeddings`` H [N, K, D], or [N, 1, D] while all particles are equal; ``log_weights`` log w [G, K],
    normalised over K; ``used`` [N, K], the vertices a particle has individualised, or None if they are not tracked.
    """

    embeddings: Tensor
    log_weights: Tensor
    used: Tensor | None

    @property
    def weights(self) -> Tensor:
        """w [G, K], each row summing to 1."""
        return self.log_weights.exp()

    def take(self, particles: slice) -> "Belief":
        """The belief's particles of one slice, weights as they are."""
        shared = self.embeddings.shape[1] == 1
        return Belief(
            self.embeddings if shared else self.embeddings[:, particles],
            self.log_weights[:, particles],
            None if self.used is None else self.used[:, particles],
        )

    def select(self, ancestors: Tensor, log_weights: Tensor, nodes: Segments) -> "Belief":
        """Particle k becomes a copy of its ancestor, with new weights: ancestors, log_weights [G, K]."""
        used = None if self.used is None else self.used.gather(1, ancestors[nodes.index])
        shared = self.embeddings.shape[1] == 1  # all particles are equal
        embeddings = self.embeddings if shared else select_particles(self.embeddings, ancestors, nodes)
        return Belief(embeddings, log_weights, used)


def initial_belief(embeddings: Tensor, particles: int, num_graphs: int, track_used: bool) -> Belief:
    """K equal particles of weight 1/K (line 4): embeddings [N, D], kept once until the particles part."""
    dtype = torch.promote_types(embeddings.dtype, torch.float32)  # in bf16 a weight would be a per cent off
    log_weights = embeddings.new_full((num_graphs, particles), -math.log(particles), dtype=dtype)
    used = None
    if track_used:
        used = torch.zeros(len(embeddings), particles, dtype=torch.bool, device=embeddings.device)
    return Belief(embeddings[:, None], log_weights, used)


def effective_sample_size(log_weights: Tensor) -> Tensor:
    """1 / Σ_k w_k², from 1 (one particle has it all) to K (uniform): normalised [G, K] -> [G]."""
    return (-torch.logsumexp(2 * log_weights, 1)).exp()
