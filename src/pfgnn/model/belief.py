"""The belief: K weighted colourings (particles) of each graph."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.ops.particles import select_particles
from pfgnn.ops.segments import Segments


class Belief(NamedTuple):
    """b_t(G) = ⟨H_t^k, w_t^k⟩ for k = 1..K (Equation 3), for each of G graphs.

    Fields:
        embeddings: H, shape [N, K, D], or [N, 1, D] while all particles are equal.
        log_weights: log w, normalised over K, shape [G, K].
        used: Which vertices each particle has individualised, shape [N, K]. None unless ``mask_used`` is set.
    """

    embeddings: Tensor
    log_weights: Tensor
    used: Tensor | None

    @property
    def weights(self) -> Tensor:
        """The weights w, shape [G, K]. Each row sums to 1."""
        return self.log_weights.exp()

    def select(self, ancestors: Tensor, log_weights: Tensor, nodes: Segments) -> "Belief":
        """Replace each particle by a copy of its ancestor, and set new weights.

        Args:
            ancestors: Number of the particle that is copied to each place, shape [G, K].
            log_weights: New log weights, shape [G, K].
            nodes: The nodes of each graph.
        """
        used = None if self.used is None else self.used.gather(1, ancestors[nodes.index])
        shared = self.embeddings.shape[1] == 1  # all particles are equal
        embeddings = self.embeddings if shared else select_particles(self.embeddings, ancestors, nodes)
        return Belief(embeddings, log_weights, used)


def initial_belief(embeddings: Tensor, particles: int, num_graphs: int, track_used: bool) -> Belief:
    """K equal particles, each of weight 1/K (line 4). The embeddings are stored once, as all particles are equal.

    Args:
        embeddings: H, shape [N, D].
        particles: K.
        num_graphs: G.
        track_used: Whether to track which vertices each particle has individualised.
    """
    dtype = torch.promote_types(embeddings.dtype, torch.float32)  # in bfloat16 a weight could be off by one per cent
    log_weights = embeddings.new_full((num_graphs, particles), -math.log(particles), dtype=dtype)
    used = None
    if track_used:
        used = torch.zeros(embeddings.shape[0], particles, dtype=torch.bool, device=embeddings.device)
    return Belief(embeddings[:, None], log_weights, used)


def effective_sample_size(log_weights: Tensor) -> Tensor:
    """Effective sample size 1 / Σ_k w_k²: 1 if one particle has all the weight, K if the weights are uniform.

    Args:
        log_weights: Normalised log weights, shape [G, K].

    Returns:
        Effective sample size of each graph, shape [G].
    """
    return (-torch.logsumexp(2 * log_weights, 1)).exp()
