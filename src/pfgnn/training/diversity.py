"""How different the particles of a pass are. Where both numbers are low, they are copies of a few."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from pfgnn.model.belief import effective_sample_size
from pfgnn.model.output import Output
from pfgnn.ops.side_stream import beside, joined


@contextmanager
def measured_beside(output: Output, graphs: int) -> Iterator[tuple[Tensor, Tensor]]:
    """:func:`diversity`, on a GPU measured beside what runs within."""
    with joined(output.prediction):
        with beside(output.prediction):
            found = diversity(output, graphs)
        yield found


@torch.no_grad()
def diversity(output: Output, graphs: int) -> tuple[Tensor, Tensor]:
    """The effective sample size and the entropy of the policy, 0 without steps.

    Means over all steps and over the first graphs; those after them are padding.

    Args:
        output: of a pass.
        graphs: how many count.
    """
    if not output.trace:
        return output.prediction.new_zeros(()), output.prediction.new_zeros(())
    log_w = torch.stack([step.log_weights[:graphs] for step in output.trace])  # [T, G, K]
    entropy = torch.stack([step.entropy[:graphs] for step in output.trace])  # [T, G, K]
    return effective_sample_size(log_w.flatten(0, 1)).mean(), entropy.mean()
