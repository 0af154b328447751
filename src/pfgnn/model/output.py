"""What a pass of a model returns."""

from typing import NamedTuple

from torch import Tensor

from pfgnn.model.belief import Belief, effective_sample_size
from pfgnn.model.readout import Reading


class StepTrace(NamedTuple):
    """What one step did, for all K particles, also those that its resampling dropped.

    Fields:
        vertices: the vertices drawn, as node numbers in the batch, [G, K, m].
        valid: False where a graph had fewer than m vertices to draw, [G, K, m].
        log_prob: log P of the draws under the policy, [G, K].
        parents: the particle before the step that each one goes on from, [G, K].
        entropy: of the policy; with independent draws its estimate -log P, without a gradient, [G, K].
        log_weights: after the observation, [G, K].
        ancestors: of the resampling, [G, K].
    """

    vertices: Tensor
    valid: Tensor
    log_prob: Tensor
    parents: Tensor
    entropy: Tensor
    log_weights: Tensor
    ancestors: Tensor

    @property
    def ess(self) -> Tensor:
        """The effective sample size of the weights, [G]."""
        return effective_sample_size(self.log_weights)


class Output(NamedTuple):
    """What a pass returns.

    Fields:
        prediction: [G, C] or [N, C], made from the embedding.
        embedding: f̃(G), [G, (T + 1) D'] or [N, (T + 1) D'].
        belief: the particles and weights at the end.
        trace: what each step did, T of them.
        readings: what was read of each step, T + 1 of them.
    """

    prediction: Tensor
    embedding: Tensor
    belief: Belief
    trace: list[StepTrace]
    readings: list[Reading]
