"""Validation: the score of a run's validation part, and which weights were best."""

import math
from dataclasses import dataclass

from pfgnn.data.task import Task
from pfgnn.training.evaluate import Draws, Forward, evaluate, predict
from pfgnn.training.examples import Examples
from pfgnn.training.metrics import higher_is_better
from pfgnn.training.state import State
from pfgnn.training.targets import Standardise


@dataclass(frozen=True)
class Validation:
    """How a run is validated.

    Args:
        forward: the model's predictions.
        examples: the graphs.
        draws: how predictions are drawn.
        scaler: of regression targets, or None.
        task: names the metric.
    """

    forward: Forward
    examples: Examples
    draws: Draws
    scaler: Standardise | None
    task: Task

    def score(self) -> float | None:
        """The metric of the validation part; None where there is none."""
        graphs = self.examples.validation
        if graphs is None:
            return None
        prediction = predict(self.forward, self.examples.data, graphs, self.draws, 0)
        if self.scaler is not None:
            prediction = self.scaler.unscale(prediction)
        return evaluate([prediction], self.examples.y(graphs), self.task, average=False).value

    def cost(self, value: float) -> float:
        """The metric, or its negative where higher is better."""
        return -value if higher_is_better(self.task.metric) else value

    def note(self, value: float, state: State) -> bool:
        """Write a score into the state; whether it is the best so far. Of equals the later is, which has seen more."""
        best = math.inf if state.best is None else self.cost(state.best)
        state.waited = 0 if self.cost(value) < best else state.waited + 1
        if not self.cost(value) <= best:  # also where it is NaN
            return False
        state.best, state.best_update = value, state.update
        return True
