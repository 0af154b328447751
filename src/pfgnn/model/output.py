"""The output of a forward pass."""

from typing import NamedTuple

from torch import Tensor

from pfgnn.model.belief import Belief, effective_sample_size
from pfgnn.model.readout import Reading


class StepTrace(NamedTuple):
    """A record of one step, for all K particles before the resampling of that step.

    Fields:
        vertices: The drawn vertices, as node numbers in the batch, shape [G, K, m].
        valid: False for a draw that found no free vertex left, shape [G, K, m].
        log_prob: log P of the drawn vertices under the policy, shape [G, K].
        parents: Number of the particle before the step from which each particle continues, shape [G, K].
        entropy: Entropy of the policy, shape [G, K]. With independent draws it is estimated by -log P, without a
            gradient.
        log_weights: log w after the observation, shape [G, K].
        ancestors: Number of the particle that the resampling copied to each place, shape [G, K].
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
        """The effective sample size of the weights, shape [G]."""
        return effective_sample_size(self.log_weights)


class Output(NamedTuple):
    """The output of a forward pass.

    Fields:
        prediction: Prediction from the embedding, shape [G, C], or [N, C] at node level.
        embedding: f̃(G), shape [G, (T + 1) D'], or [N, (T + 1) D'] at node level.
        belief: Particles and weights after the last step.
        trace: A record of each of the T steps.
        readings: Features read out after steps 0 to T.
    """

    prediction: Tensor
    embedding: Tensor
    belief: Belief
    trace: list[StepTrace]
    readings: list[Reading]

    def __repr__(self) -> str:
        """One line: the shapes of prediction and embedding, and the numbers of steps and particles."""
        shapes = f"prediction {list(self.prediction.shape)}, embedding {list(self.embedding.shape)}"
        return f"Output({shapes}; T = {len(self.trace)} steps, K = {self.belief.log_weights.shape[1]} particles)"

    def in_float32(self) -> "Output":
        """The same with all that a loss needs in float32. The particles' embeddings stay as they are."""
        readings = [
            Reading(of.features.float(), None if of.parts is None else of.parts.float()) for of in self.readings
        ]
        trace = [
            step._replace(**{name: getattr(step, name).float() for name in ("log_prob", "entropy", "log_weights")})
            for step in self.trace
        ]
        return self._replace(
            prediction=self.prediction.float(), embedding=self.embedding.float(), trace=trace, readings=readings
        )
