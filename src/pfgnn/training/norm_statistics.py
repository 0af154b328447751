"""Means and variances of batch norms for evaluation, estimated anew with the current weights."""

from collections.abc import Callable, Iterable
from itertools import islice

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from pfgnn.data.batch import GraphBatch
from pfgnn.model.norms import BatchNorm


@torch.no_grad()
def estimate(
    model: nn.Module, batches: Iterable[GraphBatch], count: int, forward: Callable[[GraphBatch], object]
) -> None:
    """Replace the running means and variances of all batch norms by their averages over some training batches.

    Running means are averages over older weights. If these still change, and graphs differ little, as regular ones do,
    training and evaluation disagree, and the validation says nothing. The training itself does not change.

    Args:
        model: The model, in training mode.
        batches: Training batches.
        count: How many of them are used; with 0 nothing changes.
        forward: A forward pass in training mode.
    """
    norms = [part for part in model.modules() if isinstance(part, BatchNorm | _BatchNorm)]
    if not norms or not count:
        return
    momenta = [norm.momentum for norm in norms]
    devices = {parameter.device for parameter in model.parameters() if parameter.is_cuda}
    try:
        with torch.random.fork_rng(devices):  # dropout of torch in a user's own module
            for number, batch in enumerate(islice(batches, count), start=1):
                for norm in norms:
                    norm.momentum = 1 / number  # so each batch counts the same
                forward(batch)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
