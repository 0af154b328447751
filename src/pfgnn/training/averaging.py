"""The mean of the gradients of several devices."""

from collections.abc import Iterator

import torch
import torch.distributed
from torch import Tensor, nn


class Averaging:
    """Averages the gradients of all devices in one buffer: one message, however many parameters there are.

    A parameter that gets no gradient on any device in the first update, such as that of a policy without a policy loss,
    has none later either.

    Args:
        model: The model. Its parameters and buffers are set to those of the first device.
    """

    def __init__(self, model: nn.Module) -> None:
        self.parameters = list(model.parameters())  # after the first update only those with a gradient
        self.flat: Tensor | None = None
        with torch.no_grad():
            for tensor in (*self.parameters, *model.buffers()):
                torch.distributed.broadcast(tensor, 0)

    def stages(self) -> Iterator[Tensor]:
        """Replace the gradients by their mean over all devices, see :mod:`pfgnn.training.stages`."""
        if self.flat is None:
            used = torch.tensor([float(p.grad is not None) for p in self.parameters], device=self.parameters[0].device)
            yield used  # a device without graphs of its own may lack some
            self.parameters = [p for p, count in zip(self.parameters, used.tolist(), strict=True) if count]
            self.flat = torch.cat([p.detach().flatten() for p in self.parameters])  # for its length and type
        own = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        torch.cat([gradient.flatten() for gradient in own], out=self.flat)
        yield self.flat
        self.flat /= torch.distributed.get_world_size()
        pieces = self.flat.split([p.numel() for p in self.parameters])
        for parameter, piece in zip(self.parameters, pieces, strict=True):
            parameter.grad = piece.view_as(parameter)
