"""How different the particles are. If both numbers are low, most particles are copies of a few."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from pfgnn.model.belief import effective_sample_size
from pfgnn.model.output import Output
from pfgnn.ops.side_stream import beside, joined


@contextmanager
def measured_beside(output: Output, graphs: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Launch :func:`diversity` on a side stream of the GPU, while the body of the with block runs."""
    with joined(output.prediction):
        with beside(output.prediction):
            found = diversity(output, graphs)
        yield found


@torch.no_grad()
def diversity(output: Output, graphs: int) -> tuple[Tensor, Tensor]:
    """The effective sample size and the entropy of the policy; both are 0 if the model has no steps.

    Both are means over all steps, and over the graphs that are not padding.

    Args:
        output: Output of the model.
        graphs: Number of graphs before the padding.
    """
    if not output.trace:
        return output.prediction.new_zeros(()), output.prediction.new_zeros(())
    log_w = torch.stack([step.log_weights[:graphs] for step in output.trace])  # [T, G, K]
    entropy = torch.stack([step.entropy[:graphs] for step in output.trace])  # [T, G, K]
    return effective_sample_size(log_w.flatten(0, 1)).mean(), entropy.mean()
