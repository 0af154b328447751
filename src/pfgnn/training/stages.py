"""A computation on several devices in stages: between two stages, a tensor is summed over all devices.

It is written as a generator that yields each such tensor. The sums are made outside, because a CUDA graph may hold a
stage, but not a sum over devices: not every backend can be captured, and each device captures when it likes to.
"""

from collections.abc import Generator

import torch
from torch import Tensor

from pfgnn.errors import OutOfMemoryError
from pfgnn.training.devices import sum_over_devices

Stages = Generator[Tensor, None, Tensor | None]

TOO_LARGE = "a batch does not fit into the device's memory; a smaller training.batch_size or model.particles takes less"


def run_stages(stages: Stages) -> Tensor | None:
    """Run all stages and return the result.

    A stage that runs out of memory raises torch's error if nothing was summed before: then all stages may run again.
    Later it raises an :class:`OutOfMemoryError`, because the other devices do not wait for the same sum twice.

    Args:
        stages: The stages. On every device they yield the same number of tensors, of the same shapes.
    """
    summed = False
    while True:
        try:
            tensor = next(stages)
        except StopIteration as end:
            result: Tensor | None = end.value
            return result
        except torch.OutOfMemoryError as error:
            if summed:
                raise OutOfMemoryError(TOO_LARGE) from error
            raise
        sum_over_devices(tensor)
        summed = True
