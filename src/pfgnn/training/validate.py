"""Validation: the score of the validation part, and whether it is the best so far."""

import math
from dataclasses import dataclass

from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError
from pfgnn.training.batches import Examples
from pfgnn.training.checkpoints import State
from pfgnn.training.evaluate import Draws, Forward, evaluate, predict
from pfgnn.training.metrics import higher_is_better, log_loss
from pfgnn.training.targets import Standardise


@dataclass(frozen=True)
class Validation:
    """How a run is validated.

    Args:
        forward: Predictions of the model.
        examples: The graphs.
        draws: How predictions are drawn.
        scaler: Scaling of regression targets, or None.
        task: Names the metric.
        select: What the best weights are best in, see :class:`pfgnn.training.config.TrainingConfig`.
    """

    forward: Forward
    examples: Examples
    draws: Draws
    scaler: Standardise | None
    task: Task
    select: str = "metric"

    def __post_init__(self) -> None:
        if self.select == "log_loss" and self.task.loss not in CLASS_LOSSES:
            raise InputError(
                f"training.select must be metric for the loss {self.task.loss}, but it is log_loss, which needs classes"
            )

    def score(self) -> float | None:
        """The metric or the log loss of the validation part; None if there is no such part.

        Of several targets in different units, a mean of their errors would be that of the target with the largest
        numbers. So if targets are standardised, these errors are in deviations of the training targets.
        """
        graphs = self.examples.validation
        if graphs is None:
            return None
        prediction = predict(self.forward, self.examples.data, graphs, self.draws, 0)
        y = self.examples.y(graphs)
        if self.select == "log_loss":
            return log_loss(prediction, y)
        if self.scaler is not None:
            if self.task.metric == "mae" and self.task.outputs > 1:
                y = self.scaler.scale(y.double())
            else:
                prediction = self.scaler.unscale(prediction)
        return evaluate([prediction], y, self.task, average=False).value

    def cost(self, value: float) -> float:
        """The score, or its negative if higher is better. So a lower cost is always better."""
        return -value if self.select == "metric" and higher_is_better(self.task.metric) else value

    def note(self, value: float, state: State) -> bool:
        """Update the state with a score, and return whether it is the best so far.

        A score equal to the best one counts as the best, because the later weights were trained longer.
        """
        best = math.inf if state.best is None else self.cost(state.best)
        state.waited = 0 if self.cost(value) < best else state.waited + 1
        if not self.cost(value) <= best:  # also true if the value is NaN
            return False
        state.best, state.best_update = value, state.update
        return True
