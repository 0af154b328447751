"""What is not finite is never scored: the graph that it comes from is named."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from pfgnn.data.loader import GraphStore, Indices
from pfgnn.errors import DivergedError, InputError
from pfgnn.training.step import Step


def check_predictions(
    prediction: Tensor, data: GraphStore, graphs: Indices, model: nn.Module, names: Indices | None = None
) -> None:
    """Raise an error if a prediction is NaN or infinite.

    Args:
        prediction: Predictions [G, C] or [N, C] in the order of ``graphs``.
        data: The dataset.
        graphs: Numbers of the graphs.
        model: The model that made the predictions.
        names: What each graph is called in messages, in the order of ``graphs``. By default its number.
    """
    finite = prediction.isfinite()
    if finite.all():
        return
    state = [tensor for tensor in model.state_dict().values() if tensor.is_floating_point()]
    if not all(bool(tensor.isfinite().all()) for tensor in state):
        raise DivergedError(
            "the weights of the model are no longer finite, so it cannot predict; "
            "a smaller training.learning_rate or training.clip may help"
        )
    row, column = (~finite).nonzero()[0].tolist()
    called = graphs if names is None else names
    of_row = called.repeat(data.node_counts[graphs]) if data.node_level else called
    wrong = len(np.unique(of_row[(~finite).any(1).numpy()]))
    raise InputError(
        f"a prediction must be finite, but that of graph {of_row[row]} is {float(prediction[row, column])} "
        f"({wrong} of {len(np.unique(graphs))} graphs)"
    )


class FirstUpdate:
    """The state of a training before its first update, to find the graph if this update is not finite.

    Then the data or the model is the cause. The learning rate is not, because no weight was changed before.

    Args:
        step: The step.
        data: The dataset.
        graphs: Numbers of the graphs of the first batch on this device.
    """

    def __init__(self, step: Step, data: GraphStore, graphs: Indices) -> None:
        self.step, self.data, self.graphs = step, data, graphs
        self.before = {name: tensor.clone() for name, tensor in step.model.state_dict().items()}

    def check(self, seed: Tensor) -> None:
        """Raise a DivergedError if the sums of the step are not finite after the update.

        Args:
            seed: Seed of the draws of the update.
        """
        if self.step.sums.isfinite().all():
            return
        self.step.model.load_state_dict(self.before)
        wrong = [int(graph) for graph in self.graphs if not self._is_finite(int(graph), seed)]
        if wrong and len(wrong) < len(self.graphs):
            cause = f"because of graph {wrong[0]} ({len(wrong)} of {len(self.graphs)} graphs); check what it holds"
        else:
            cause = f"with {'every graph' if wrong else 'no graph alone'} as the cause; check the model"
        raise DivergedError(f"the loss and its gradient must be finite in the first update, but they are not, {cause}")

    def _is_finite(self, graph: int, seed: Tensor) -> bool:
        """Whether the loss of one graph and its gradient are finite, with the weights before the update."""
        model = getattr(self.step.model, "module", self.step.model)  # other devices have no part in this
        model.eval()  # a batch norm may need more than one graph
        with self.step.devices.autocast():
            losses, output, gains = replace(self.step, model=model).losses(self.data.collate([graph]), seed)
            loss = self.step.objective(losses, output.trace, gains=gains).total
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        return all(bool(tensor.isfinite().all()) for tensor in (loss, *gradients) if tensor is not None)
